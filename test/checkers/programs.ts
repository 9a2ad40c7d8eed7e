// Starts other people's programs, each in a process group of its own, and ends the whole group when its time is over.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { stripVTControlCharacters } from 'node:util'

interface Settings {
  env?: Record<string, string>
  deadlineMs?: number
}

export type Programs = ReturnType<typeof createPrograms>
export type Program = ReturnType<Programs['start']>

const defaultDeadlineMs = 60_000
const graceMs = 5_000

/** @param stop ends all programs, and prevents new ones. The settings of one program add to `defaults`. */
export function createPrograms(defaults: { env: NodeJS.ProcessEnv; folder: string }, stop: AbortSignal) {
  const start = (command: string, args: readonly string[], { env, deadlineMs = defaultDeadlineMs }: Settings = {}) => {
    stop.throwIfAborted()
    const child = spawn(command, args, {
      env: { ...defaults.env, ...env },
      cwd: defaults.folder,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    })

    const texts = { stdout: '', output: '' }
    for (const name of ['stdout', 'stderr'] as const) {
      child[name].setEncoding('utf8').on('data', (chunk: string) => {
        texts.output += chunk
        if (name === 'stdout') texts.stdout += chunk
      })
    }

    let isClosed = false
    const kill = (signal: NodeJS.Signals) => {
      if (isClosed || child.pid === undefined) return
      try {
        process.kill(-child.pid, signal)
      } catch {
        // The group has just ended.
      }
    }
    // Chromium has a group of its own. Lighthouse ends it, and removes Chromium's profile, at SIGINT only.
    const end = () => {
      kill('SIGINT')
      setTimeout(kill, graceMs, 'SIGKILL').unref()
    }
    let isLate = false
    const deadline = setTimeout(() => {
      isLate = true
      end()
    }, deadlineMs)
    stop.addEventListener('abort', end)
    const closed = once(child, 'close')
      .then(([code, signal]: unknown[]) => (isLate ? `none within ${deadlineMs / 1000} s` : String(code ?? signal)))
      .finally(() => {
        isClosed = true
        clearTimeout(deadline)
        stop.removeEventListener('abort', end)
      })

    return {
      /** What the program has printed so far, without colors. `output` has stdout and stderr. */
      stdout: () => stripVTControlCharacters(texts.stdout),
      output: () => stripVTControlCharacters(texts.output),
      onOutput: (listener: () => void) => void child.stdout.on('data', listener),
      end,
      /** Resolves to its exit code, to the signal that ended it, or to `none within 60 s`. */
      closed,
    }
  }

  return {
    start,
    /** Resolves to what the program printed to stdout. Rejects with all output when it fails. */
    run: async (command: string, args: readonly string[], settings?: Settings) => {
      const { closed, stdout, output } = start(command, args, settings)
      const code = await closed
      if (code !== '0') throw new Error(`Exit code: ${code}.\n${output()}`)
      return stdout()
    },
  }
}
