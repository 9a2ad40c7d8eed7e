// Reads and writes catalog files, `{ "plans": [ … ] }`. An exported file also says where its plans come from. Node only.
import { z } from 'zod'
import { isJsonObject, readPath } from '../json.ts'
import { describePlace, findJsonProblems } from './json-check.ts'
import { abbreviate } from '../abbreviate.ts'
import { catalogPlanSchema, countryCode, nonNegativeInteger, type CatalogPlan } from './plan-schema.ts'

/** The catalog that a file was exported from. */
export interface CatalogOrigin {
  /** The random ID of its database. */
  catalog: string
  /** Its revision at the export. */
  revision: number
}

/** What an export says about itself. */
export interface ExportSource {
  origin?: CatalogOrigin | undefined
  /** The country that the export was limited to. */
  country?: string | undefined
}

export interface CatalogFile extends ExportSource {
  plans: CatalogPlan[]
}

export type CatalogResult = ({ kind: 'catalog' } & CatalogFile) | { kind: 'invalid'; defects: string[] }

const catalogId = '16 hexadecimal digits in lower case'

const fileSchema = z
  .strictObject(
    {
      catalog: z
        .string(catalogId)
        .regex(/^[0-9a-f]{16}$/, catalogId)
        .optional(),
      revision: nonNegativeInteger.optional(),
      country: countryCode.optional(),
      plans: z.array(z.unknown(), 'an array of plans'),
    },
    'a JSON object with an array "plans"',
  )
  .superRefine(({ catalog, revision }, context) => {
    if ((catalog === undefined) === (revision === undefined)) return
    const [missing, present] = catalog === undefined ? ['catalog', 'revision'] : ['revision', 'catalog']
    context.addIssue({ code: 'custom', path: [missing], message: `a value, because the file has a ${present}` })
  })

export function formatCatalog(plans: readonly CatalogPlan[], { origin, country }: ExportSource = {}): string {
  return `${JSON.stringify({ ...origin, country, plans }, null, 2)}\n`
}

/**
 * Finds all defects of a file at once. Each defect is one line that names the plan, the field, the expected and the found
 * value. `onChecked` gets the number of plans checked so far.
 */
export function parseCatalog(json: string, onChecked: (done: number, total: number) => void = () => {}): CatalogResult {
  const { candidates, origin, country, ...file } = parseFile(json)
  const plans: CatalogPlan[] = []
  const defects = new Set<string>(file.defects)
  for (const [index, candidate] of candidates.entries()) {
    onChecked(index, candidates.length)
    const { data, error } = catalogPlanSchema.safeParse(candidate)
    if (data) plans.push(data)
    for (const issue of error?.issues ?? []) defects.add(describeIssue(namePlan(candidate, index), candidate, issue))
  }
  for (const conflict of findConflicts(plans)) defects.add(conflict)
  return defects.size > 0 ? { kind: 'invalid', defects: [...defects] } : { kind: 'catalog', plans, origin, country }
}

/** Parses everything but the plans, which may be anything. */
export function parseFile(json: string): ExportSource & { candidates: unknown[]; defects: string[] } {
  let value: unknown
  try {
    value = JSON.parse(json, refusePrototype)
  } catch (error) {
    return { candidates: [], defects: [`The file is not JSON: ${describeJsonError(json, error)}`] }
  }
  const { data, error } = fileSchema.safeParse(value)
  const issues = error?.issues.map((issue) => describeIssue('The file', value, issue)) ?? []
  const defects = [...findDuplicates(json, value), ...issues]
  const candidates: unknown[] = isJsonObject(value) && Array.isArray(value['plans']) ? value['plans'] : []
  const { catalog, revision, country } = data ?? {}
  const origin = catalog === undefined || revision === undefined ? undefined : { catalog, revision }
  return { candidates, defects, origin, country }
}

/** V8 names the place of only some errors. */
function describeJsonError(json: string, error: unknown): string {
  // JSON.parse throws a RangeError when the call stack overflows.
  if (error instanceof RangeError) return 'it is nested too deeply'
  const [problem] = findJsonProblems(json)
  if (problem?.kind !== 'syntax') return error instanceof Error ? error.message : 'unreadable'
  const { offset, expected } = problem
  const found = offset === json.length ? 'the end' : abbreviate(String.fromCodePoint(json.codePointAt(offset) ?? 0))
  return `${describePlace(json, offset)}: expected ${expected}; found ${found}.`
}

/** JSON.parse keeps the last of two members with the same name, and drops the other without a word. */
function findDuplicates(json: string, value: unknown): string[] {
  const problems = findJsonProblems(json).flatMap((problem) => (problem.kind === 'duplicate' ? [problem] : []))
  // When the file has `plans` twice, the place of a plan tells nothing.
  const ofFile = problems.filter(({ path }) => path.length === 0)
  return (ofFile.length > 0 ? ofFile : problems).map(({ path, name, offset }) => {
    const [list, index, ...rest] = path
    const plans = isJsonObject(value) && list === 'plans' ? value['plans'] : undefined
    const isInPlan = Array.isArray(plans) && typeof index === 'number'
    const owner = isInPlan ? namePlan(plans[index], index) : 'The file'
    return `${owner}: ${formatPath([...(isInPlan ? rest : path), name])} is there twice; the second is at ${describePlace(json, offset)}.`
  })
}

function formatPath(path: readonly PropertyKey[]): string {
  return path.map((name) => (/^\w{1,40}$/.test(String(name)) ? String(name) : abbreviate(name))).join('.')
}

/** Refuses the one member name that an assignment to an object would silently drop. */
function refusePrototype(name: string, value: unknown): unknown {
  if (name === '__proto__') throw new Error('it has a member named "__proto__"')
  // JSON.stringify writes -0 as 0.
  return value === 0 ? 0 : value
}

function describeIssue(owner: string, value: unknown, issue: z.core.$ZodIssue): string {
  // For an invalid key, zod's path ends with the key.
  const isKey = issue.code === 'invalid_key'
  const path = isKey ? issue.path.slice(0, -1) : issue.path
  const place = path.length === 0 ? owner : `${owner}: ${formatPath(path)}`
  if (issue.code === 'unrecognized_keys') return `${place}: unknown field ${issue.keys.map(abbreviate).join(', ')}.`
  const found = isKey ? issue.path.at(-1) : readPath(value, ...path)
  return `${place}: expected ${issue.message}; found ${abbreviate(found)}.`
}

/** Names a plan by its identifier, or by its position in the file, counted from 1, when it has none. */
function namePlan(plan: unknown, index: number): string {
  const identifier = readPath(plan, 'identifier')
  return typeof identifier === 'string' ? `Plan ${abbreviate(identifier)}` : `Plan number ${index + 1}`
}

/**
 * Finds plans that can't be stored together: two plans with the same ID or identifier, or with different objects of the same
 * ID, such as a category. Each line names the later plan first.
 */
export function findConflicts(plans: Iterable<CatalogPlan>): string[] {
  const conflicts: string[] = []
  const seen = new Map<string, { json: string; by: string }>()
  const claim = (key: string, value: unknown, by: string, describe: (other: string) => string) => {
    const json = JSON.stringify(value)
    const earlier = seen.get(key)
    if (earlier === undefined) seen.set(key, { json, by })
    else if (earlier.json !== json) conflicts.push(`Plan "${by}": ${describe(earlier.by)}`)
  }
  let index = 0
  for (const plan of plans) {
    const { id, identifier } = plan
    index++
    claim(`id ${id}`, index, identifier, (other) => `id: ${id} is also the id of plan "${other}".`)
    claim(`identifier ${identifier}`, index, identifier, () => 'identifier: another plan has the same identifier.')
    for (const [field, value] of Object.entries(plan)) {
      if (!isJsonObject(value) || !('id' in value)) continue
      const key = `id ${String(value['id'])}`
      claim(`${field} ${key}`, value, identifier, (other) => `${field}: ${key} has other values in plan "${other}".`)
    }
  }
  return conflicts
}
