// The formats of files that hold a catalog, or a part of it.
import { formatCatalog, type CatalogFile } from '../../catalog/catalog-file.ts'
import { formatCatalogSheet } from '../../catalog/catalog-sheet.ts'
import { nothingImported, type CatalogInput } from '../core/catalog-import.ts'
import { UserError } from '../core/user-error.ts'
import { formatCsv, parseCsv } from './csv-file.ts'
import { decodeText } from './text-encoding.ts'
import { formatXlsx, isXlsx, parseXlsx } from './xlsx-file.ts'

export const fileFormats = ['json', 'csv', 'xlsx'] as const
export type FileFormat = (typeof fileFormats)[number]

/** @returns the format that the extension of a file name says. */
export function findFormat(file: string): FileFormat | undefined {
  const [, extension = ''] = /\.([a-z]+)$/i.exec(file) ?? []
  return fileFormats.find((format) => format === extension.toLowerCase())
}

/**
 * Parses a file as far as its format goes; core checks the plans.
 * @throws UserError when it is not of that format.
 */
export async function parseCatalogInput(
  file: string,
  bytes: Uint8Array,
  { format, hasDecimalComma = false }: { format?: FileFormat | undefined; hasDecimalComma?: boolean | undefined } = {},
): Promise<CatalogInput> {
  const actual = format ?? (isXlsx(bytes) ? 'xlsx' : (findFormat(file) ?? 'json'))
  try {
    if (actual === 'xlsx') return { kind: 'spreadsheet', spreadsheet: await parseXlsx(bytes, hasDecimalComma) }
    const text = decodeText(bytes)
    if (actual === 'json') return { kind: 'json', text }
    return { kind: 'spreadsheet', spreadsheet: parseCsv(text, hasDecimalComma) }
  } catch (error) {
    throw error instanceof UserError ? new UserError([error.message, nothingImported]) : error
  }
}

export async function formatCatalogFile(file: CatalogFile, format: FileFormat): Promise<string | Uint8Array> {
  if (format === 'json') return formatCatalog(file.plans, file)
  const isUntyped = format === 'csv'
  const sheet = formatCatalogSheet(file, { isUntyped })
  return isUntyped ? formatCsv(sheet) : formatXlsx(sheet)
}
