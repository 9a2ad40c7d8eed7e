// Storage that fails as the real one does: when a statement runs, not when it is prepared.
import { env } from 'cloudflare:workers'
import { vi } from 'vitest'

/** D1's own errors begin with D1_ERROR, those of the way to it do not. */
export function breakD1(message = 'D1_ERROR: down'): void {
  answerD1With(() => Promise.reject(new Error(message)))
}

export function hangD1(): void {
  answerD1With(() => new Promise<never>(() => {}))
}

function answerD1With(raw: () => Promise<never>): void {
  const prepare = () => ({ bind: () => ({ raw }) })
  vi.spyOn(env.DB, 'prepare').mockImplementation(prepare as never)
  vi.spyOn(env.DB, 'withSession').mockReturnValue({ prepare } as never)
}
