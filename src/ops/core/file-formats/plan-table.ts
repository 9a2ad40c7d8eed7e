// Finds the plans in the sheets of a spreadsheet: the names of the columns, and one row for each plan. Pure.
import { describeStart } from '../../shared/target.ts'
import type { CatalogOrigin } from '../../../db/catalog-queries.ts'
import type { CatalogFile } from './catalog-file.ts'
import { findUnknownName, type Defect, type Place, type RowPlace } from './defect.ts'
import {
  decodeCell,
  describeValue,
  emptyValue,
  isEmptyCell,
  showCell,
  type Cell,
  type CellFormat,
} from './plan-cells.ts'
import { findColumn, listColumns, planFields, type PlanColumn } from './plan-columns.ts'
import { abbreviate, nameSome } from '../../../abbreviate.ts'

export interface Sheet {
  /** undefined when the format has no names, as CSV. */
  name: string | undefined
  rows: readonly (readonly Cell[])[]
  isHidden?: boolean
  /** From 0. */
  hiddenRows?: ReadonlySet<number>
  hiddenColumns?: ReadonlySet<number>
}

export interface Spreadsheet {
  sheets: readonly Sheet[]
  format: CellFormat
}

export interface PlanRow {
  place: RowPlace
  cells: readonly Cell[]
}

export interface PlanTable extends Omit<CatalogFile, 'plans'> {
  /** With the position of the column in the rows. */
  columns: readonly (PlanColumn & { index: number })[]
  rows: readonly PlanRow[]
  /** The place of the column names. */
  headerPlace: Place
  defects: readonly Defect[]
}

/** The name of the sheet in an export. */
export const plansSheetName = 'Plans'

/** The column that says where the plans were exported from. Every row has it, so that rows can be sorted and deleted. */
export const originColumn = 'exportedFrom'

export function formatCatalogOrigin({ catalog, revision }: CatalogOrigin): string {
  return `catalog ${catalog}, revision ${revision}`
}

/** @returns undefined when the text is not one that `formatCatalogOrigin` writes. */
function parseCatalogOrigin(text: string): CatalogOrigin | undefined {
  const [, catalog, revision] = /^catalog ([0-9a-f]{16}), revision ([0-9]{1,15})$/.exec(text) ?? []
  return catalog === undefined ? undefined : { catalog, revision: Number(revision) }
}

/** @returns the table, or why there is none. Nobody sees a hidden sheet, so it counts only when no visible one has plans. */
export function findPlanTable({ sheets, format }: Spreadsheet): PlanTable | { defects: Defect[] } {
  const found = sheets.flatMap((sheet) => {
    const headerIndex = sheet.rows.findIndex((row) => row.some(isIdentifierColumn))
    return headerIndex === -1 ? [] : [{ sheet, headerIndex }]
  })
  const filled = found.filter(({ sheet, headerIndex }) =>
    sheet.rows.some((row, index) => index > headerIndex && !row.every(isEmptyCell)),
  )
  const counting = filled.length > 0 ? filled : found
  const visible = counting.filter(({ sheet }) => !sheet.isHidden)
  const [chosen, ...others] = visible.length > 0 ? visible : counting
  const place: Place = { kind: 'file' }
  if (chosen === undefined) {
    const expected = 'a row with the names of the columns, one of them identifier'
    const first = sheets.flatMap(({ rows }) => rows).find((row) => !row.every(isEmptyCell))
    const shown = first && `The first row is ${escapeLetters(abbreviate(first.map(showCell)))}. `
    const fix = `${shown ?? ''}For a file to fill: ${describeStart('catalog export --for figures --output figures.xlsx')}`
    return { defects: [{ place, expected, found: 'none', fix }] }
  }
  const { sheet, headerIndex } = chosen
  if (others.length > 0) {
    const names = [chosen, ...others].map((other) => abbreviate(other.sheet.name)).join(' and ')
    const fix = sheet.isHidden ? 'Unhide the sheet that counts.' : 'Hide or delete the other sheets.'
    const kind = sheet.isHidden ? 'the hidden sheets' : 'the sheets'
    return { defects: [{ place, expected: 'plans in one sheet', found: `plans in ${kind} ${names}`, fix }] }
  }
  const table = readTable(sheet, headerIndex, format)
  // Named in another way, as the defects say.
  if (!table.columns.some(({ name }) => name === 'identifier')) return { defects: [...table.defects] }
  const unread = sheet.isHidden ? [] : counting.filter((other) => other.sheet.isHidden)
  const names = nameSome(unread.map((other) => abbreviate(other.sheet.name)))
  const notes = [...(table.notes ?? []), ...(names === '' ? [] : [`Plans of hidden sheets were not read: ${names}.`])]
  return sheets.length === 1 ? table : { ...table, notes, sheet: sheet.name }
}

function isIdentifierColumn(cell: Cell): boolean {
  return readTitle(cell).toLowerCase() === 'identifier'
}

/** The name of a column. It may have been copied with invisible characters, which none has. */
function readTitle(cell: Cell | undefined): string {
  return showCell(cell)
    .replaceAll(/[\p{C}\p{Default_Ignorable_Code_Point}]/gu, '')
    .trim()
}

/** Escapes letters, because some only look like those of a column's name. */
function escapeLetters(text: string): string {
  return text.replaceAll(/[^ -~…]/g, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

function readTable(sheet: Sheet, headerIndex: number, format: CellFormat): PlanTable {
  const { columns, originIndex, ignored, defects: headerDefects } = readHeader(sheet, headerIndex)
  const body = listBody(sheet, headerIndex)
  const sources = listSources(body, originIndex)
  const filled = body.filter(({ cells }) => columns.some(({ index }) => !isEmptyCell(cells[index])))
  // Each row of a text has all its separators.
  const width = format.isUntyped ? Math.max(originIndex ?? 0, ...columns.map(({ index }) => index)) + 1 : 0
  const whole = filled.filter(({ cells }) => cells.length >= width)
  const [source = ''] = sources.keys()
  return {
    origin: parseCatalogOrigin(source),
    notes: [...describeIgnored(ignored), ...describeHidden(sheet, columns, whole)],
    columns,
    rows: whole,
    headerPlace: locateRow(sheet, headerIndex),
    defects: [...headerDefects, ...findCutRows(filled, width), ...checkSources(sources)],
  }
}

/** @param index from 0. */
function locateRow({ name }: Sheet, index: number): RowPlace {
  return { kind: 'row', sheet: name, row: index + 1 }
}

function listBody(sheet: Sheet, headerIndex: number): PlanRow[] {
  const first = headerIndex + 1
  return sheet.rows.slice(first).map((cells, offset) => ({ place: locateRow(sheet, first + offset), cells }))
}

interface Header extends Pick<PlanTable, 'columns' | 'defects'> {
  /** The position of the column that says where the plans were exported from. */
  originIndex: number | undefined
  ignored: readonly string[]
}

/** Reads the names of the columns. */
function readHeader(sheet: Sheet, headerIndex: number): Header {
  const place = locateRow(sheet, headerIndex)
  const [names = [], ...body] = sheet.rows.slice(headerIndex)
  const defects: Defect[] = []
  const columns: PlanTable['columns'][number][] = []
  const ignored: string[] = []
  let originIndex: number | undefined
  const width = body.reduce((widest, row) => Math.max(widest, row.length), names.length)
  for (let index = 0; index < width; index++) {
    const title = readTitle(names[index])
    const column = findColumn(title)
    const complain = (expected: string, found: string) => defects.push({ place, expected, found })
    if (title === '') {
      const used = body.find((row) => !isEmptyCell(row[index]))?.[index]
      if (used !== undefined) complain('a name for each column with values', `none for that of ${describeValue(used)}`)
    } else if (title === originColumn) originIndex = index
    else if (column === undefined) {
      const defect = findUnknownColumn(title, place)
      if (defect === undefined) ignored.push(title)
      else defects.push(defect)
    } else if ('expected' in column) complain(`${column.expected} after the dot`, abbreviate(title))
    else if (columns.some((other) => other.name === column.name)) complain('each column once', `${column.name} twice`)
    else columns.push({ ...column, index })
  }
  return { columns, originIndex, ignored, defects }
}

/** @returns undefined for a name unlike any column's: the column is ignored. */
function findUnknownColumn(title: string, place: Place): Defect | undefined {
  const known = [...listColumns([]).map(({ name }) => name), originColumn]
  const defect = findUnknownName(place, 'column', title, known)
  const isPart = planFields.some(({ name }) => name === title.split('.')[0])
  return defect.fix === undefined && !isPart ? undefined : defect
}

function describeIgnored(columns: readonly string[]): string[] {
  const names = nameSome(columns.map(abbreviate))
  return columns.length === 0 ? [] : [`No field of a plan has the name ${names}: ignored.`]
}

/** Says what was read though nobody sees it, such as rows that a filter hides. */
function describeHidden(
  { name, isHidden = false, hiddenRows = new Set(), hiddenColumns = new Set() }: Sheet,
  columns: PlanTable['columns'],
  rows: readonly PlanRow[],
): string[] {
  const sheet = `sheet ${abbreviate(name)}`
  const rowCount = rows.filter(({ place }) => hiddenRows.has(place.row - 1)).length
  const hidden = columns.filter(({ index }) => hiddenColumns.has(index))
  const columnCount = hidden.filter(({ index }) => rows.some(({ cells }) => !isEmptyCell(cells[index]))).length
  const counts = [...count(rowCount, 'hidden row'), ...count(columnCount, 'hidden column')]
  return [
    ...(isHidden ? [`The ${sheet} is hidden. It was read because no visible sheet has plans.`] : []),
    ...(counts.length > 0 ? [`The ${sheet} has ${counts.join(' and ')} with values, which were read, too.`] : []),
  ]
}

function count(number: number, noun: string): string[] {
  return number === 0 ? [] : [`${number} ${noun}${number === 1 ? '' : 's'}`]
}

function findCutRows(rows: readonly PlanRow[], width: number): Defect[] {
  const expected = `a cell for each of ${width} columns`
  const cut = rows.filter(({ cells }) => cells.length < width)
  return cut.map(({ place, cells }) => ({ place, expected, found: String(cells.length), fix: 'Was the file cut?' }))
}

/** @returns the last row of each text that says where plans were exported from. */
function listSources(rows: readonly PlanRow[], originIndex: number | undefined): Map<string, Place> {
  const filled = rows.filter(({ cells }) => originIndex !== undefined && !isEmptyCell(cells[originIndex]))
  return new Map(filled.map(({ place, cells }) => [showCell(cells[originIndex ?? 0] ?? null).trim(), place]))
}

function checkSources(sources: ReadonlyMap<string, Place>): Defect[] {
  return [...sources].flatMap(([text, row], index): Defect[] => {
    const [place, found]: [Place, string] = [{ ...row, field: originColumn }, abbreviate(text)]
    if (!parseCatalogOrigin(text)) return [{ place, expected: 'the text of an export, or nothing', found }]
    const fix = 'Import each export by itself, or delete this column.'
    return index === 0 ? [] : [{ place, expected: 'rows of one export', found, fix }]
  })
}

/**
 * Reads the cells of a row as fields of a plan. Objects and amounts get only the members that the row has.
 * @param isPartial leaves out empty cells; otherwise they have no value.
 */
export function readFields({ columns }: PlanTable, { cells }: PlanRow, isPartial: boolean) {
  const fields: Record<string, unknown> = {}
  for (const { field, member, kind, index } of columns) {
    const cell = cells[index] ?? null
    const isEmpty = isEmptyCell(cell)
    if (isEmpty && isPartial) continue
    const value = isEmpty ? emptyValue(kind) : decodeCell(kind, cell)
    if (member === undefined) fields[field] = value
    else Object.assign((fields[field] ??= {}), { [member]: value })
  }
  return fields
}
