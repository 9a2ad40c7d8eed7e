// What the local runtime prints. It prints an error of SQLite with a stack, also when the call is repeated and succeeds.

/**
 * Collects what the runtime prints, through wrangler with `console.error`, while `work` runs.
 * @param work receives the messages so far.
 */
export async function collectRuntimeMessages<T>(work: (messages: readonly string[]) => Promise<T>): Promise<T> {
  const { error: original } = console
  const messages: string[] = []
  console.error = (...values: unknown[]) => void messages.push(values.map(String).join(' '))
  try {
    return await work(messages)
  } finally {
    console.error = original
  }
}
