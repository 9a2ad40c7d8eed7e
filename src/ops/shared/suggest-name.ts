// Suggests a name for a mistyped one.

/**
 * @param name what somebody typed.
 * @param candidates the names that exist.
 * @returns such as `Did you mean gold?`: the candidate that differs in case, or in one or two letters; or else that begins with the name,
 * and goes on after a dot or a hyphen.
 */
export function suggestName(name: string, candidates: readonly string[]): string | undefined {
  const maxDistance = name.length < 5 ? 1 : 2
  const typed = name.trim().toLowerCase()
  const [nearest] = candidates
    .filter((candidate) => candidate !== name && Math.abs(candidate.length - typed.length) <= maxDistance)
    .map((candidate) => ({ candidate, distance: countEdits(typed, candidate.toLowerCase()) }))
    .filter(({ distance }) => distance <= maxDistance)
    .toSorted((a, b) => a.distance - b.distance)
  const longer = () =>
    candidates.find((candidate) =>
      [`${typed}.`, `${typed}-`].some((start) => candidate.toLowerCase().startsWith(start)),
    )
  const meant = nearest?.candidate ?? longer()
  return meant && `Did you mean ${meant}?`
}

/** Counts the letters to insert, delete or replace (Levenshtein). */
function countEdits(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (const [index, letter] of from.split('').entries()) {
    const next = [index + 1]
    for (let column = 1; column <= to.length; column++) {
      const replaced = (row[column - 1] ?? 0) + Number(letter !== to[column - 1])
      next.push(Math.min(replaced, (row[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1))
    }
    row = next
  }
  return row.at(-1) ?? 0
}
