// Finds the plans in a spreadsheet: the sheet, the row with the names of the columns, and one row for each plan.
import { prefixWithNpm } from '../../shared/target.ts'
import type { CatalogOrigin } from '../../../db/catalog-queries.ts'
import type { CatalogFile } from './catalog-file.ts'
import { makeDefectError, makeUnknownNameDefect, wholeFile, type Defect, type Place } from './defect.ts'
import { decodeCell, describeValue, isEmptyCell, showCell, type Cell, type CellFormat } from './plan-cells.ts'
import { columnsWithoutAmounts, findColumn, planFields, type PlanColumn } from './plan-columns.ts'
import { abbreviate, nameSome } from '../../../abbreviate.ts'

export interface Sheet {
  /** Undefined for CSV, which has no names of sheets. */
  name: string | undefined
  rows: readonly (readonly Cell[])[]
  isHidden?: boolean
  /** The positions of hidden rows, from 0. */
  hiddenRows?: ReadonlySet<number>
  hiddenColumns?: ReadonlySet<number>
}

export interface Spreadsheet {
  sheets: readonly Sheet[]
  format: CellFormat
}

export interface PlanRow {
  place: Place
  /** The position in the sheet, from 0. */
  index: number
  cells: readonly Cell[]
}

export interface PlanTable extends Omit<CatalogFile, 'plans'> {
  /** The known columns, each with its position in the rows. */
  columns: readonly (PlanColumn & { index: number })[]
  rows: readonly PlanRow[]
  headerPlace: Place
  defects: readonly Defect[]
}

/** The column with the catalog and revision of an export. Every row has it, so that people can sort and delete rows. */
export const originColumn = 'exportedFrom'

export function formatCatalogOrigin({ catalog, revision }: CatalogOrigin): string {
  return `catalog ${catalog}, revision ${revision}`
}

/** @returns undefined for a text that `formatCatalogOrigin` does not write. */
function parseCatalogOrigin(text: string): CatalogOrigin | undefined {
  const [, catalog, revision] = /^catalog ([0-9a-f]{16}), revision ([0-9]{1,15})$/.exec(text) ?? []
  return catalog === undefined ? undefined : { catalog, revision: Number(revision) }
}

/**
 * Finds the sheet with plans, and reads it. A hidden sheet, which nobody sees, counts only when no visible sheet has plans.
 * @throws UserError when no sheet has a column `identifier`, or several sheets have plans.
 */
export function readPlanTable({ sheets, format }: Spreadsheet): PlanTable {
  const planSheets = listPlanSheets(sheets)
  const visibleSheets = planSheets.filter(({ isHidden }) => !isHidden)
  const [sheet, ...otherSheets] = visibleSheets.length > 0 ? visibleSheets : planSheets
  if (sheet === undefined) throw makeDefectError([makeMissingHeaderDefect(sheets)])
  if (otherSheets.length > 0) {
    const names = [sheet, ...otherSheets].map(({ name }) => abbreviate(name)).join(' and ')
    const fix = sheet.isHidden ? 'Unhide the sheet that the command must read.' : 'Hide or delete the other sheets.'
    const found = `plans in ${sheet.isHidden ? 'the hidden sheets' : 'the sheets'} ${names}`
    throw makeDefectError([{ place: wholeFile, expected: 'plans in one sheet', found, fix }])
  }
  const table = readPlanSheet(sheet, format)
  // A header without this column has another spelling of it, such as `Identifier`. The defects suggest the right spelling.
  if (!table.columns.some(({ name }) => name === 'identifier')) throw makeDefectError(table.defects)
  if (sheets.length === 1) return table
  const unreadSheets = sheet.isHidden ? [] : planSheets.filter(({ isHidden }) => isHidden)
  const names = nameSome(unreadSheets.map(({ name }) => abbreviate(name)))
  const unreadNote = unreadSheets.length === 0 ? [] : [`These hidden sheets have plans, which were not read: ${names}.`]
  return { ...table, notes: [...(table.notes ?? []), ...unreadNote], sheet: sheet.name }
}

/** Lists the sheets that have plans. If no sheet has plans, lists the sheets that have only the names of the columns. */
function listPlanSheets(sheets: readonly Sheet[]): Sheet[] {
  const tables = sheets.filter((sheet) => findHeaderIndex(sheet) !== -1)
  const filledTables = tables.filter((sheet) =>
    sheet.rows.slice(findHeaderIndex(sheet) + 1).some((row) => !row.every(isEmptyCell)),
  )
  return filledTables.length > 0 ? filledTables : tables
}

/** @returns -1 when no row has the names of the columns. */
function findHeaderIndex({ rows }: Sheet): number {
  return rows.findIndex((row) => row.some((cell) => readTitle(cell).toLowerCase() === 'identifier'))
}

function makeMissingHeaderDefect(sheets: readonly Sheet[]): Defect {
  const firstRow = sheets.flatMap(({ rows }) => rows).find((row) => !row.every(isEmptyCell))
  const firstRowSentence = firstRow && `The first row is ${escapeLetters(abbreviate(firstRow.map(showCell)))}. `
  return {
    place: wholeFile,
    expected: 'a row with the names of the columns, one of them identifier',
    found: 'none',
    fix: `${firstRowSentence ?? ''}For a file to fill: ${prefixWithNpm('catalog export --output plans.xlsx')}`,
  }
}

/** Reads the name of a column, without invisible characters: people copy them with the name. */
function readTitle(cell: Cell | undefined): string {
  return showCell(cell)
    .replaceAll(/[\p{C}\p{Default_Ignorable_Code_Point}]/gu, '')
    .trim()
}

/** Escapes characters outside ASCII, such as a Cyrillic letter that looks like a Latin letter in the name of a column. Keeps the `…` of `abbreviate`. */
function escapeLetters(text: string): string {
  return text.replaceAll(/[^ -~…]/g, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** Reads a sheet that has a row with the names of the columns. */
function readPlanSheet(sheet: Sheet, format: CellFormat): PlanTable {
  const headerIndex = findHeaderIndex(sheet)
  const { columns, originIndex, ignoredNames, defects: headerDefects } = readHeader(sheet, headerIndex)
  const body = sheet.rows
    .map((cells, index): PlanRow => ({ place: locateRow(sheet, index), index, cells }))
    .slice(headerIndex + 1)
  const origins = listOrigins(body, originIndex)
  const filledRows = body.filter(({ cells }) => columns.some(({ index }) => !isEmptyCell(cells[index])))
  // A CSV row has a separator after every cell, even if the cell is empty. A row with fewer cells was cut off.
  const minCells = format.isCsv ? Math.max(originIndex ?? 0, ...columns.map(({ index }) => index)) + 1 : 0
  const rows = filledRows.filter(({ cells }) => cells.length >= minCells)
  const [firstOrigin = ''] = origins.keys()
  const ignoredNote = `Columns that are ignored, because no field of a plan has their name: ${nameSome(ignoredNames.map(abbreviate))}.`
  return {
    origin: parseCatalogOrigin(firstOrigin),
    notes: [...(ignoredNames.length === 0 ? [] : [ignoredNote]), ...describeHiddenValues(sheet, columns, rows)],
    columns,
    rows,
    headerPlace: locateRow(sheet, headerIndex),
    defects: [...headerDefects, ...findCutRowDefects(filledRows, minCells), ...findOriginDefects(origins)],
  }
}

/** @param index the position of the row in the sheet, from 0. */
function locateRow({ name }: Sheet, index: number): Place {
  const sheet = name === undefined ? '' : `sheet ${abbreviate(name)}, `
  return { kind: 'row', owner: `${sheet}row ${index + 1}` }
}

/** @returns the columns of plan fields, the position of `exportedFrom` (undefined without this column), the names of ignored columns, and the defects. */
function readHeader(sheet: Sheet, headerIndex: number) {
  const place = locateRow(sheet, headerIndex)
  const [names = [], ...body] = sheet.rows.slice(headerIndex)
  const defects: Defect[] = []
  const columns: PlanTable['columns'][number][] = []
  const ignoredNames: string[] = []
  let originIndex: number | undefined
  const width = body.reduce((widest, row) => Math.max(widest, row.length), names.length)
  for (let index = 0; index < width; index++) {
    const title = readTitle(names[index])
    const column = findColumn(title)
    const addDefect = (expected: string, found: string) => defects.push({ place, expected, found })
    if (title === '') {
      const firstValue = body.find((row) => !isEmptyCell(row[index]))?.[index]
      if (firstValue === undefined) continue
      addDefect('a name for each column with values', `none above ${describeValue(firstValue)}`)
    } else if (title === originColumn) originIndex = index
    else if (column === undefined) {
      const defect = findMistypedColumn(title, place)
      if (defect === undefined) ignoredNames.push(title)
      else defects.push(defect)
    } else if ('expected' in column) addDefect(`${column.expected} after the dot`, abbreviate(title))
    else if (columns.some((other) => other.name === column.name)) addDefect('each column once', `${column.name} twice`)
    else columns.push({ ...column, index })
  }
  return { columns, originIndex, ignoredNames, defects }
}

/** @returns a defect if the name is similar to the name of a column, or begins with a field; otherwise undefined, and the column is ignored. */
function findMistypedColumn(title: string, place: Place): Defect | undefined {
  const columnNames = [...columnsWithoutAmounts.map(({ name }) => name), originColumn]
  const defect = makeUnknownNameDefect(place, 'column', title, columnNames)
  const isSimilar = defect.fix !== undefined
  const beginsWithField = planFields.some(({ name }) => name === title.split('.')[0])
  return isSimilar || beginsWithField ? defect : undefined
}

/** Writes notes about hidden values that were read, such as rows that a filter hides. */
function describeHiddenValues(
  { name, isHidden = false, hiddenRows = new Set(), hiddenColumns = new Set() }: Sheet,
  columns: PlanTable['columns'],
  rows: readonly PlanRow[],
): string[] {
  const sheet = `sheet ${abbreviate(name)}`
  const rowCount = rows.filter(({ index }) => hiddenRows.has(index)).length
  const columnCount = columns.filter(
    ({ index }) => hiddenColumns.has(index) && rows.some(({ cells }) => !isEmptyCell(cells[index])),
  ).length
  const counts = [...formatCount(rowCount, 'hidden row'), ...formatCount(columnCount, 'hidden column')]
  return [
    ...(isHidden ? [`The ${sheet} is hidden. It was read because no visible sheet has plans.`] : []),
    ...(counts.length > 0 ? [`The ${sheet} has ${counts.join(' and ')} with values, which were read, too.`] : []),
  ]
}

/** @returns a list with a text such as `1 hidden row`; an empty list for 0. */
function formatCount(count: number, noun: string): string[] {
  return count === 0 ? [] : [`${count} ${noun}${count === 1 ? '' : 's'}`]
}

/** Reports rows of a CSV file that end before the last column. @param minCells how many cells a complete row has. */
function findCutRowDefects(rows: readonly PlanRow[], minCells: number): Defect[] {
  const expected = `a cell for each of ${minCells} columns`
  const cutRows = rows.filter(({ cells }) => cells.length < minCells)
  return cutRows.map(({ place, cells }) => ({ place, expected, found: String(cells.length), fix: 'Was the file cut?' }))
}

/** @returns the different texts in the column `exportedFrom`, each with the place of its last row. */
function listOrigins(rows: readonly PlanRow[], originIndex: number | undefined): Map<string, Place> {
  if (originIndex === undefined) return new Map()
  const rowsWithOrigin = rows.filter(({ cells }) => !isEmptyCell(cells[originIndex]))
  return new Map(rowsWithOrigin.map(({ place, cells }) => [showCell(cells[originIndex]).trim(), place]))
}

/** Finds origins that no export writes, and origins of a second export. @param origins each with the place of its last row. */
function findOriginDefects(origins: ReadonlyMap<string, Place>): Defect[] {
  return [...origins].flatMap(([text, rowPlace], index): Defect[] => {
    const place: Place = { ...rowPlace, field: originColumn }
    const found = abbreviate(text)
    if (!parseCatalogOrigin(text)) return [{ place, expected: 'the text of an export, or nothing', found }]
    const fix = 'Import each export by itself, or delete this column.'
    return index === 0 ? [] : [{ place, expected: 'rows of one export', found, fix }]
  })
}

/** Reads the fields of a plan. @param isPartial whether to leave out empty cells. Otherwise an empty cell means no value: null, or an empty list. */
export function readFields({ columns }: PlanTable, { cells }: PlanRow, { isPartial }: { isPartial: boolean }) {
  const fields: Record<string, unknown> = {}
  for (const { field, member, kind, index } of columns) {
    const cell = cells[index] ?? null
    const isEmpty = isEmptyCell(cell)
    if (isEmpty && isPartial) continue
    const value = decodeCell(kind, isEmpty ? null : cell)
    if (member === undefined) fields[field] = value
    else Object.assign((fields[field] ??= {}), { [member]: value })
  }
  return fields
}
