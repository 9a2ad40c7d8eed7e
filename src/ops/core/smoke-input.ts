// What the smoke test needs, and how it ends. A deploy checks its input before the new version is live.

export const originRule = '--url must be an origin such as https://catalog.example.com; http: only for this machine.'

/** 0: passed. 1: a check failed. 2: wrong input. 3: the address did not answer, so nothing was checked. */
export type SmokeExitCode = 0 | 1 | 2 | 3

/** The variables with the credentials of the smoke test's partner. */
const credentialNames = ['CLIENT_ID', 'CLIENT_SECRET', 'SHORT_NAME']

/** @returns what to fix when some are set, and not all. */
export function findIncompleteCredentials(variables: Record<string, string | undefined>): string | undefined {
  const missing = credentialNames.filter((name) => !variables[name])
  if (missing.length === 0 || missing.length === credentialNames.length) return undefined
  const present = credentialNames.filter((name) => variables[name])
  return `The smoke test lacks ${missing.join(' and ')}: set all of ${credentialNames.join(', ')}, or unset ${present.join(' and ')}.`
}
