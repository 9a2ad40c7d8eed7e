// The Cron Trigger of npm run dev: wrangler runs none by itself.

const minuteMs = 60_000
/** A timer may fire a little early, and nothing is due before its minute. */
const marginMs = 100

/**
 * Runs the schedule of a local Worker at the start of every minute, for as long as this process lives. It runs in the
 * Worker itself, because a second process on the same database would compete with it. The route exists in wrangler dev only.
 */
export function startDevSchedule(origin: string, onFailure: (reason: string) => void): void {
  const run = () => {
    waitForNextMinute()
    void fetch(`${origin}/cdn-cgi/local/scheduled`, { signal: AbortSignal.timeout(minuteMs) }).then(
      ({ ok, status }) => ok || onFailure(`the local Worker answered ${status}`),
      (error: unknown) => onFailure(String(error)),
    )
  }
  const waitForNextMinute = () => {
    setTimeout(run, minuteMs - (Date.now() % minuteMs) + marginMs).unref()
  }
  waitForNextMinute()
}
