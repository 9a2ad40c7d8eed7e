// The formats of files that hold a catalog, or a part of it.
import { extname } from 'node:path'
import { formatCatalog, type CatalogFile } from '../file-formats/catalog-file.ts'
import { fillOlderPlan } from '../file-formats/older-plan.ts'
import { formatCatalogSheet } from '../file-formats/catalog-sheet.ts'
import type { CatalogInput } from './catalog-import.ts'
import { UserError } from '../../shared/user-error.ts'
import { formatCsv, parseCsv } from '../file-formats/csv-file.ts'
import { decodeText } from '../../store/text-encoding.ts'
import { judgeFile } from '../file-formats/file-kind.ts'
import { formatXlsx, parseXlsx } from '../file-formats/xlsx-file.ts'

const fileFormats = ['json', 'csv', 'xlsx'] as const
export type FileFormat = (typeof fileFormats)[number]

function findFormat(extension: string): FileFormat | undefined {
  return fileFormats.find((format) => `.${format}` === extension.toLowerCase())
}

/** The columns with the figures of a month. */
const figureColumn = /^(?:identifier|name|performance.*)$/

type Purpose = 'figures'

/**
 * @param file undefined for standard output.
 * @throws UserError when the name says another format, or JSON for some columns.
 */
export function chooseExportFormat(file = '', purpose?: Purpose): FileFormat {
  const extension = extname(file)
  const format = findFormat(extension)
  if (purpose !== undefined && (format === undefined || format === 'json')) {
    throw new UserError(`--for ${purpose} writes a spreadsheet: add --output ${purpose}.xlsx, or .csv.`)
  }
  if (format !== undefined || extension === '') return format ?? 'json'
  throw new UserError(`A catalog file can’t be ${extension}: let the name end with .xlsx, .csv or .json.`)
}

/** An object, or an array of objects or arrays. */
const jsonStart = /^\s*(?:\{|\[\s*[{[\]])/

/**
 * Parses a file as far as its format goes; core checks the plans.
 * @param file its name only tells JSON that does not start as such.
 * @throws UserError when it has another format.
 */
export async function parseCatalogInput(file: string, bytes: Uint8Array): Promise<CatalogInput> {
  if (bytes.length === 0) throw new UserError('The file is empty.')
  if (judgeFile(bytes) === 'xlsx') return { kind: 'spreadsheet', spreadsheet: await parseXlsx(bytes) }
  const text = decodeText(bytes)
  if (findFormat(extname(file)) === 'json' || jsonStart.test(text)) return { kind: 'json', text }
  return { kind: 'spreadsheet', spreadsheet: parseCsv(text) }
}

export async function formatCatalogFile(
  catalog: CatalogFile,
  format: FileFormat,
  purpose?: Purpose,
): Promise<string | Uint8Array> {
  const file = { ...catalog, plans: catalog.plans.map((plan) => fillOlderPlan(plan)) }
  if (format === 'json') return formatCatalog(file.plans, file.origin)
  const isUntyped = format === 'csv'
  const isWanted = (column: string) => purpose === undefined || figureColumn.test(column)
  const sheet = formatCatalogSheet(file, { isUntyped }, isWanted)
  return isUntyped ? formatCsv(sheet) : formatXlsx(sheet)
}
