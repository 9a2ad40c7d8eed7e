// What happened in the town, and the first rule that was broken.
import type { Clock } from './clock.ts'

/** What every part of the town needs. */
export interface Town {
  seed: string
  clock: Clock
  journal: Journal
}

export type Journal = ReturnType<typeof createJournal>

const maxEvents = 20_000
const maxShown = 45

/** @param nowMs the true time. */
export function createJournal(nowMs: () => number) {
  let events: { text: string; subject: string; partner: string | undefined }[] = []
  const figures = new Map<string, number>()
  const state: { finding?: string } = {}
  return {
    /** How often each thing happened, by its name. */
    figures,
    /** Has the text about the first broken rule. */
    state,
    count: (name: string) => void figures.set(name, (figures.get(name) ?? 0) + 1),
    /**
     * Notes an event.
     * @param subject a partner, an isolate, a key of KV, the catalog, or `world` for what concerns all.
     * @param partner to whom the event belongs: a finding about another partner leaves it out.
     */
    note(text: string, subject: string, partner?: string): void {
      events.push({ text: `  ${formatMoment(nowMs())}  ${text}`, subject, partner })
      if (events.length > maxEvents) events = events.slice(-maxEvents / 2)
    },
    /** Reports a broken rule, at which the town stops. @param subjects whose earlier events the finding shows, its partner first. */
    report(rule: string, facts: string, ...subjects: string[]): void {
      const isOfOther = (partner = '') =>
        subjects[0]?.startsWith('partner-') && partner !== '' && partner !== subjects[0]
      const about = events.filter(
        ({ subject, partner }) => ['world', ...subjects].includes(subject) && !isOfOther(partner),
      )
      const before = about.slice(-maxShown).map(({ text }) => text)
      state.finding ??= [`BROKEN at ${formatMoment(nowMs())}: ${rule}`, facts, 'Before:', ...before].join('\n')
    },
  }
}

/** `11-02 08:00:12.345` */
export function formatMoment(ms: number): string {
  return Number.isFinite(ms) ? new Date(Math.floor(ms)).toISOString().slice(5, 23).replace('T', ' ') : 'never'
}
