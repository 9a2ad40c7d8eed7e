// One data point per request for Workers Analytics Engine: what operators ask of partners, tiers and refusals.

/** The facts of the log line that are counted; each place in the dataset is fixed, as queries name it by that. */
export interface Usage {
  /** `blob1`: the route with its parameters named, not filled in. */
  route: string
  /** `blob2`, as text. */
  status: number
  /** `index1`: sampling keeps every partner in view. Empty where nobody was recognised. */
  partner: string | undefined
  /** `blob3`: of the partner. */
  country: string | undefined
  /** `blob4`: who answered a plan list. */
  tier: string | undefined
  /** `blob5`: the code of a refusal. */
  error: string | undefined
  /** `blob6`: what the caller is not told. */
  reason: string | undefined
  /** `double1` */
  durationMs: number
  /** `double2`: of a plan list. */
  ageSeconds: number | undefined
}

/** All blobs of a point share 16 KB, and a stack may be long. */
const longestReason = 512

/** Usage is worth no failed request: without a dataset, or with one that fails, nothing is written. */
export function recordUsage(dataset: AnalyticsEngineDataset | undefined, usage: Usage): void {
  const { route, status, partner = '', country = '', tier = '', error = '', reason = '' } = usage
  try {
    dataset?.writeDataPoint({
      indexes: [partner],
      blobs: [route, String(status), country, tier, error, reason.slice(0, longestReason)],
      doubles: [usage.durationMs, usage.ageSeconds ?? 0],
    })
  } catch {
    // The log line has it all.
  }
}
