// Chooses the format of a file with the catalog, or with a part of it: JSON, CSV or .xlsx.
import { extname } from 'node:path'
import { parseUpdateSheets, type CatalogUpdate } from '../differences/plan-patch.ts'
import { formatCatalog, parseCatalog, type CatalogFile } from '../file-formats/catalog-file.ts'
import { fillOlderPlan } from '../file-formats/older-plan.ts'
import { formatCatalogSheet, parseCatalogSheets } from '../file-formats/catalog-sheet.ts'
import type { Spreadsheet } from '../file-formats/plan-table.ts'
import { UserError } from '../../shared/user-error.ts'
import { formatCsv, parseCsv } from '../file-formats/csv-file.ts'
import { decodeText } from '../../store/text-encoding.ts'
import { detectFileKind } from '../file-formats/file-kind.ts'
import { formatXlsx, parseXlsx } from '../file-formats/xlsx-file.ts'

const fileFormats = ['json', 'csv', 'xlsx'] as const
export type FileFormat = (typeof fileFormats)[number]

function findFormat(extension: string): FileFormat | undefined {
  return fileFormats.find((format) => `.${format}` === extension.toLowerCase())
}

/** The only purpose of `catalog export --for`: an export of the figures of a month, with these columns. */
type Purpose = 'figures'
const figureColumn = /^(?:identifier|name|performance.*)$/

/** Chooses the format by the file's extension: JSON without one. @throws UserError for another extension, and for JSON with a purpose. */
export function chooseExportFormat(file = '', purpose?: Purpose): FileFormat {
  const extension = extname(file)
  const format = findFormat(extension)
  if (purpose !== undefined && (format === undefined || format === 'json')) {
    throw new UserError(`--for ${purpose} writes a spreadsheet: add --output ${purpose}.xlsx, or .csv.`)
  }
  if (format !== undefined || extension === '') return format ?? 'json'
  throw new UserError(`A catalog file can’t be ${extension}: let the name end with .xlsx, .csv or .json.`)
}

/** Matches the start of a JSON object, or of a JSON array of objects or arrays. No CSV file starts like this. */
const jsonStart = /^\s*(?:\{|\[\s*[{[\]])/

/** Reads a file with whole plans. @throws UserError for an unreadable file, or with a line for each defect. */
export async function readCatalog(file: string, bytes: Uint8Array): Promise<CatalogFile> {
  const content = await readContent(file, bytes)
  return typeof content === 'string' ? parseCatalog(content) : parseCatalogSheets(content)
}

/** Reads a file with some fields of some plans. @throws UserError for JSON, for an unreadable file, and without a sheet of plans. */
export async function readUpdate(file: string, bytes: Uint8Array): Promise<CatalogUpdate> {
  const content = await readContent(file, bytes)
  if (typeof content !== 'string') return parseUpdateSheets(content)
  throw new UserError('catalog update reads .xlsx and .csv: use catalog import for JSON.')
}

/** Detects the format of a file by its content, or JSON also by the name .json. @returns the text of a JSON file; a spreadsheet for .xlsx and CSV. @throws UserError for an empty or unreadable file. */
async function readContent(file: string, bytes: Uint8Array): Promise<string | Spreadsheet> {
  if (bytes.length === 0) throw new UserError('The file is empty.')
  if (detectFileKind(bytes) === 'xlsx') return parseXlsx(bytes)
  const text = decodeText(bytes)
  return findFormat(extname(file)) === 'json' || jsonStart.test(text) ? text : parseCsv(text)
}

/** @param purpose limits the columns of a spreadsheet. `chooseExportFormat` has refused JSON for a purpose. */
export async function formatCatalogFile(
  catalog: CatalogFile,
  format: FileFormat,
  purpose?: Purpose,
): Promise<string | Uint8Array> {
  const filledCatalog = { ...catalog, plans: catalog.plans.map((plan) => fillOlderPlan(plan)) }
  if (format === 'json') return formatCatalog(filledCatalog.plans, filledCatalog.origin)
  const isCsv = format === 'csv'
  const isWanted = (column: string) => purpose !== 'figures' || figureColumn.test(column)
  const sheet = formatCatalogSheet(filledCatalog, { isCsv }, isWanted)
  return isCsv ? formatCsv(sheet) : formatXlsx(sheet)
}
