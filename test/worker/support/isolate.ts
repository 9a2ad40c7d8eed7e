// The isolate that serves the test file's requests. A test can replace it by a new one, which remembers nothing.
import { createApp } from '../../../src/worker/app.ts'
import type { AllowLine } from '../../../src/worker/http/line-budget.ts'
import { createIsolate } from '../../../src/worker/isolate.ts'

let app: ReturnType<typeof createApp>
startNewIsolate()

/** By default, all requests have log lines, so that the search for leaks sees every line. */
export function startNewIsolate(allowLine: AllowLine = () => true): void {
  app = createApp({ ...createIsolate(), allowLine })
}

/** Requests that `work` sends go to a new isolate, and later ones to this one again. */
export async function inOtherIsolate<T>(work: () => Promise<T>): Promise<T> {
  const here = app
  startNewIsolate()
  try {
    return await work()
  } finally {
    app = here
  }
}

export const worker = {
  fetch: (request: Request, bindings: Env, context: ExecutionContext) => app.fetch(request, bindings, context),
}
