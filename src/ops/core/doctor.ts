// Whether an environment is healthy: what an operator must fix, and how.
import { selectClashes, selectNowSeconds, selectPublicationsInState } from '../../db/publication-queries.ts'
import type { Store } from '../store/store.ts'
import { describeCommand } from '../store/target.ts'
import { formatIsoTime } from './iso-time.ts'
import { describeClash } from './publication-log.ts'

export interface Finding {
  name: string
  /** `problem`: something must be fixed. */
  level: 'ok' | 'problem'
  message: string
}

/** The schedule runs every minute. */
const maxDelaySeconds = 180

/** Checks the publications that are not published yet. */
export async function examine({ db, target }: Store): Promise<Finding[]> {
  const [now, clashes, scheduled, waiting, conflicted] = await Promise.all([
    selectNowSeconds(db),
    selectClashes(db),
    selectPublicationsInState(db, 'scheduled'),
    selectPublicationsInState(db, 'waiting'),
    selectPublicationsInState(db, 'conflicted'),
  ])
  const command = (verb: string, id: number) => describeCommand(target, 'catalog', verb, String(id))
  const name = 'publications'
  const overdue = scheduled.filter(({ dueAt }) => dueAt !== null && dueAt + maxDelaySeconds < now)
  const problems = [
    ...overdue.map(({ id, dueAt }): Finding => {
      const message = `Publication ${id} was due at ${formatIsoTime(dueAt ?? 0)}: the schedule does not run. Check the Cron Trigger, or locally start npm run dev.`
      return { name, level: 'problem', message }
    }),
    ...waiting
      .filter(({ dueAt }) => dueAt !== null && dueAt < now)
      .map(({ id, dueAt }): Finding => {
        const message = `Publication ${id} was due at ${formatIsoTime(dueAt ?? 0)} and still waits for approval: ${command('approve', id)}`
        return { name, level: 'problem', message }
      }),
    ...[...scheduled, ...waiting]
      .filter(({ id }) => clashes.some(({ publicationId }) => publicationId === id))
      .map(({ id }): Finding => {
        const message = `Publication ${id} will conflict: ${describeClash(clashes, id)}. Cancel it, and make its change again: ${command('cancel', id)}`
        return { name, level: 'problem', message }
      }),
    ...conflicted.map(({ id, endNote }): Finding => {
      const reason = describeClash(clashes, id) ?? endNote ?? 'it conflicted'
      const message = `Publication ${id} was not published: ${reason}. See: ${command('show', id)}; make the change again, then: ${command('cancel', id)}`
      return { name, level: 'problem', message }
    }),
  ]
  if (problems.length > 0) return problems
  const pending = `${scheduled.length} scheduled, ${waiting.length} waiting for approval, none overdue, none conflicted.`
  return [{ name, level: 'ok', message: pending }]
}
