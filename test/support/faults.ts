// Storage that fails as the real one does: when a statement runs, not when it is prepared.
import { env } from 'cloudflare:workers'
import { vi } from 'vitest'

export function breakD1(): void {
  answerD1With(() => Promise.reject(new Error('D1_ERROR: down')))
}

export function hangD1(): void {
  answerD1With(() => new Promise<never>(() => {}))
}

function answerD1With(raw: () => Promise<never>): void {
  const prepare = () => ({ bind: () => ({ raw }) })
  vi.spyOn(env.DB, 'prepare').mockImplementation(prepare as never)
  vi.spyOn(env.DB, 'withSession').mockReturnValue({ prepare } as never)
}
