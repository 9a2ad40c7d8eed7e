// One data point per request to the API, for Workers Analytics Engine.

/** The facts of a request that are counted. Queries address the columns by number, so a field never changes its column. */
export interface Usage {
  /** `blob1`: of src/api/routes.ts, or `/*`. */
  route: string
  /** `blob2`, as text. */
  status: number
  /** `index1`, so that sampling keeps every partner visible. Empty when no partner was identified. */
  partner: string | undefined
  /** `blob3`: the partner's country. */
  country: string | undefined
  /** `blob4`: the cache tier that answered a plan list. */
  tier: string | undefined
  /** `blob5`: the error code of a refusal. */
  error: string | undefined
  /** `blob6`: the reason that the caller does not see. */
  reason: string | undefined
  /** `blob7`: the ID of the Worker's version. */
  version: string | undefined
  /** `double1` */
  durationMs: number
  /** `double2`: the age of a plan list. */
  ageSeconds: number | undefined
}

/** All blobs of a data point share 16 KB, and a stack can be long. */
const maxReasonLength = 512

/** Never throws: a request succeeds even if the dataset is missing or fails. */
export function recordUsage(dataset: AnalyticsEngineDataset | undefined, usage: Usage): void {
  const { route, status, partner = '', country = '', tier = '', error = '', reason = '', version = '' } = usage
  try {
    dataset?.writeDataPoint({
      indexes: [partner],
      blobs: [route, String(status), country, tier, error, reason.slice(0, maxReasonLength), version],
      doubles: [usage.durationMs, usage.ageSeconds ?? 0],
    })
  } catch {
    // This request is not counted.
  }
}
