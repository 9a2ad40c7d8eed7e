/** Suggests a candidate that differs from the typed name only in case and at most two letters, or that continues it after a dot or hyphen: `Did you mean gold?` @returns undefined if there is none. */
export function suggestName(name: string, candidates: readonly string[]): string | undefined {
  const maxDistance = name.length < 5 ? 1 : 2
  const typedName = name.trim().toLowerCase()
  const [nearestMatch] = candidates
    .filter((candidate) => candidate !== name && Math.abs(candidate.length - typedName.length) <= maxDistance)
    .map((candidate) => ({ candidate, distance: countEdits(typedName, candidate.toLowerCase()) }))
    .filter(({ distance }) => distance <= maxDistance)
    .toSorted((a, b) => a.distance - b.distance)
  const startsWithTyped = (candidate: string) =>
    [`${typedName}.`, `${typedName}-`].some((start) => candidate.toLowerCase().startsWith(start))
  const suggestion = nearestMatch?.candidate ?? candidates.find(startsWithTyped)
  return suggestion && `Did you mean ${suggestion}?`
}

/** Counts the letters to insert, delete or replace, which is the Levenshtein distance. */
function countEdits(from: string, to: string): number {
  // The edits from the letters of `from` so far to each beginning of `to`.
  let counts = Array.from({ length: to.length + 1 }, (_, length) => length)
  for (const [index, letter] of from.split('').entries()) {
    const nextCounts = [index + 1]
    for (let length = 1; length <= to.length; length++) {
      const countIfReplaced = (counts[length - 1] ?? 0) + Number(letter !== to[length - 1])
      const countIfDeleted = (counts[length] ?? 0) + 1
      const countIfInserted = (nextCounts[length - 1] ?? 0) + 1
      nextCounts.push(Math.min(countIfReplaced, countIfDeleted, countIfInserted))
    }
    counts = nextCounts
  }
  return counts.at(-1) ?? 0
}
