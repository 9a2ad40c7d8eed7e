// What happened in the town, and which rules were broken.

export interface Finding {
  rule: string
  atMs: number
  facts: string
  /** What happened before, about the same subjects. */
  events: string[]
  /** How often the rule was broken. */
  count: number
}

export type Journal = ReturnType<typeof createJournal>

const maxEvents = 20_000
const maxShown = 60

/** @param nowMs the true time. */
export function createJournal(nowMs: () => number) {
  let events: { atMs: number; text: string; subjects: readonly string[] }[] = []
  const findings = new Map<string, Finding>()
  const figures = new Map<string, number>()
  return {
    findings,
    figures,
    count: (name: string) => void figures.set(name, (figures.get(name) ?? 0) + 1),
    /** @param subjects partners, isolates, plans, or `world` for what concerns all. */
    note(text: string, ...subjects: string[]): void {
      events.push({ atMs: nowMs(), text, subjects })
      if (events.length > maxEvents) events = events.slice(-maxEvents / 2)
    },
    /** Records a broken rule: its first time with the events before. */
    report(rule: string, facts: string, ...subjects: string[]): void {
      const known = findings.get(rule)
      if (known) known.count++
      else {
        const about = events.filter((event) =>
          event.subjects.some((subject) => subject === 'world' || subjects.includes(subject)),
        )
        const shown = about.slice(-maxShown).map(({ atMs, text }) => `${formatMoment(atMs)}  ${text}`)
        findings.set(rule, { rule, atMs: nowMs(), facts, events: shown, count: 1 })
      }
    },
  }
}

/** `2026-11-02 08:00:12.345` */
export function formatMoment(ms: number): string {
  return Number.isFinite(ms) ? new Date(Math.floor(ms)).toISOString().replace('T', ' ').slice(0, 23) : String(ms)
}
