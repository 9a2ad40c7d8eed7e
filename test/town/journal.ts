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
const maxShown = 40

/** @param nowMs the true time. */
export function createJournal(nowMs: () => number) {
  let events: { text: string; subjects: readonly string[] }[] = []
  const findings = new Map<string, Finding>()
  const figures = new Map<string, number>()
  return {
    findings,
    figures,
    count: (name: string) => void figures.set(name, (figures.get(name) ?? 0) + 1),
    /** @param subjects partners, isolates or keys of KV, or `world` for what concerns all. */
    note(text: string, ...subjects: string[]): void {
      events.push({ text: `${formatMoment(nowMs())}  ${text}`, subjects: [...subjects, 'all'] })
      if (events.length > maxEvents) events = events.slice(-maxEvents / 2)
    },
    /** Records a broken rule: its first time with the events before. */
    report(rule: string, facts: string, ...subjects: string[]): void {
      const known = findings.get(rule)
      if (known) return void known.count++
      const about = events.filter((event) => ['world', ...subjects].some((subject) => event.subjects.includes(subject)))
      const shown = about.slice(-maxShown).map(({ text }) => text)
      findings.set(rule, { rule, atMs: nowMs(), facts, events: shown, count: 1 })
    },
  }
}

/** `11-02 08:00:12.345` */
export function formatMoment(ms: number): string {
  return Number.isFinite(ms) ? new Date(Math.floor(ms)).toISOString().slice(5, 23).replace('T', ' ') : 'never'
}
