// Whether an environment is healthy: what an operator must fix, and how.
import { selectNowSeconds, selectPublicationsInState } from '../../db/publication-queries.ts'
import type { Store } from '../store/store.ts'
import { describeCommand } from '../store/target.ts'
import { formatIsoTime } from './iso-time.ts'

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
  const [now, scheduled, waiting, conflicted] = await Promise.all([
    selectNowSeconds(db),
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
    ...conflicted.map(({ id, endNote }): Finding => {
      const message = `Publication ${id} was not published: ${endNote ?? 'it conflicted'}. See: ${command('show', id)}; make the change again, then: ${command('cancel', id)}`
      return { name, level: 'problem', message }
    }),
  ]
  if (problems.length > 0) return problems
  const pending = `${scheduled.length} scheduled, ${waiting.length} waiting for approval, none overdue, none conflicted.`
  return [{ name, level: 'ok', message: pending }]
}
