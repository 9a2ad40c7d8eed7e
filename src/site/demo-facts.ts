// What partners learn from the demo catalog: the values of its fields and the size of its list, as Markdown. Node only.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { parseCatalog } from '../catalog/catalog-file.ts'
import { storePlan } from '../catalog/plan-document.ts'
import type { demoCases } from '../catalog/demo-cases.ts'
import type { CatalogPlan } from '../catalog/plan-schema.ts'

/** The country with values at their limits, which are no examples. */
const limitCases: keyof typeof demoCases = 'EG'

const listedPlans = 10_000

function readExamples(): CatalogPlan[] {
  const parsed = parseCatalog(readFileSync(join(import.meta.dirname, '../catalog/demo.json'), 'utf8'))
  if (parsed.kind !== 'catalog') throw new Error('src/catalog/demo.json is invalid.')
  return parsed.plans.filter(({ viewableIn }) => !viewableIn.includes(limitCases))
}

function listOnce(values: readonly string[]): string {
  return [...new Set(values)].map((value) => `\`${value}\``).join(', ')
}

/** A table of the fields with a set of values, and the values in the order of the catalog or of their IDs. */
export function formatValues(): string {
  const plans = readExamples()
  const listNames = (read: (plan: CatalogPlan) => { id: number; name: string } | null) => {
    const objects = plans.map(read).filter((value) => value !== null)
    return listOnce(objects.toSorted((one, other) => one.id - other.id).map(({ name }) => name))
  }
  const rows = {
    '`fundType`': listOnce(plans.map(({ fundType }) => fundType)),
    '`profitType`': listOnce(plans.map(({ profitType }) => profitType)),
    '`tenor`': listOnce(plans.map(({ tenor }) => tenor)),
    '`category.name`': listNames(({ category }) => category),
    '`planType.name`': listNames(({ planType }) => planType),
    '`productRiskLevel.name`': listNames(({ productRiskLevel }) => productRiskLevel),
  }
  return formatTable(['Field', 'Values'], rows)
}

/** How large a list is, from the bytes of the plans. */
export function formatSizes(): string {
  const documents = readExamples().map((plan) => storePlan(plan).document)
  const list = Buffer.from(`[${documents.join()}]`)
  const bytesPerPlan = list.byteLength / documents.length
  return [
    `A plan of the demo catalog has ${(bytesPerPlan / 1000).toFixed(1)} KB of JSON on average.`,
    `A list of these ${documents.length} plans has ${formatKilobytes(list)}, and ${formatKilobytes(gzipSync(list))} with gzip;`,
    `${listedPlans.toLocaleString('en')} plans would have ${Math.round((bytesPerPlan * listedPlans) / 1_000_000)} MB.`,
  ].join(' ')
}

function formatKilobytes({ byteLength }: Uint8Array): string {
  return `${Math.round(byteLength / 1000)} KB`
}

/** @param rows the second cell by the first, as Markdown without blocks. */
export function formatTable(header: readonly [string, string], rows: Record<string, string>): string {
  const lines = Object.entries(rows).map(([first, second]) => `| ${first} | ${second} |`)
  return [`| ${header.join(' | ')} |`, '| --- | --- |', ...lines].join('\n')
}
