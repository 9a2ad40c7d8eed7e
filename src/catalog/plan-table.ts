// Finds the plans in the sheets of a spreadsheet: the names of the columns, and one row for each plan. Pure.
import type { ExportSource } from './catalog-file.ts'
import { describeCell, isEmptyCell, showCell, type Cell, type CellFormat } from './plan-cells.ts'
import { findColumn, type PlanColumn } from './plan-columns.ts'
import { abbreviate } from '../abbreviate.ts'
import { isCountryCode } from './country-codes.ts'

/** Rows and columns count from 0, and both ends belong to the range. */
export interface CellRange {
  startRow: number
  endRow: number
  startCol: number
  endCol: number
}

export interface Sheet {
  /** undefined when the format has no names, as CSV. */
  name: string | undefined
  rows: readonly (readonly Cell[])[]
  merges: readonly CellRange[]
}

export interface Spreadsheet {
  sheets: readonly Sheet[]
  format: CellFormat
}

export interface PlanRow {
  /** Names the row for a message, such as `Sheet "Plans", row 7`. */
  place: string
  /** By column name. */
  cells: ReadonlyMap<string, Cell>
}

export interface PlanTable extends ExportSource {
  columns: readonly PlanColumn[]
  rows: readonly PlanRow[]
  format: CellFormat
  /** The place of the column names. */
  headerPlace: string
  defects: readonly string[]
}

export const plansSheetName = 'Plans'

/** The column that says where the plans were exported from. Every row has it, so that rows can be sorted and deleted. */
export const sourceColumn = 'exportedFrom'

export function formatSource({ origin, country }: ExportSource): string | null {
  const parts = [
    ...(origin ? [`catalog ${origin.catalog}`, `revision ${origin.revision}`] : []),
    ...(country === undefined ? [] : [`country ${country}`]),
  ]
  return parts.length === 0 ? null : parts.join(', ')
}

/** @returns undefined when the text is not one that `formatSource` writes. */
function parseSource(text: string): ExportSource | undefined {
  const [whole, catalog, revision, country] =
    /^(?:catalog ([0-9a-f]{16}), revision ([0-9]{1,15}))?(?:(?:^|, )country ([A-Z]{2}))?$/.exec(text.trim()) ?? []
  if (!whole || (country !== undefined && !isCountryCode(country))) return undefined
  const origin = catalog === undefined ? undefined : { catalog, revision: Number(revision) }
  return { origin, country }
}

/** @returns the table, or why there is none. */
export function findPlanTable({ sheets, format }: Spreadsheet): PlanTable | { defect: string } {
  const found = sheets.flatMap((sheet) => {
    const headerIndex = sheet.rows.findIndex((row) => row.some(isIdentifierColumn))
    return headerIndex === -1 ? [] : [{ sheet, headerIndex }]
  })
  const [first] = found
  const chosen = found.length > 1 ? found.find(({ sheet }) => sheet.name === plansSheetName) : first
  if (chosen) return readTable(chosen.sheet, chosen.headerIndex, format)
  if (first === undefined)
    return { defect: 'The file has no row with the names of the columns, one of them identifier.' }
  const names = found.map(({ sheet }) => abbreviate(sheet.name))
  return { defect: `The sheets ${names.join(' and ')} all have plans. Name one of them ${plansSheetName}.` }
}

function isIdentifierColumn(cell: Cell): boolean {
  return typeof cell === 'string' && cell.trim() === 'identifier'
}

function readTable({ name, rows, merges }: Sheet, headerIndex: number, format: CellFormat): PlanTable {
  const placeOf = (first: number, last = first) => {
    const place = first === last ? `row ${first + 1}` : `rows ${first + 1} to ${last + 1}`
    return name === undefined ? `R${place.slice(1)}` : `Sheet ${abbreviate(name)}, ${place}`
  }
  const headerPlace = placeOf(headerIndex)
  const body = rows.slice(headerIndex + 1)
  const defects: string[] = []
  const columns: PlanColumn[] = []
  const width = rows.slice(headerIndex).reduce((widest, row) => Math.max(widest, row.length), 0)
  /** By position; undefined for an empty column. */
  const names = Array.from({ length: width }, (_, index): string | undefined => {
    const cell = rows[headerIndex]?.[index] ?? null
    const title = typeof cell === 'string' ? cell.trim() : cell
    if (isEmptyCell(cell)) {
      const isUsed = body.some((row) => !isEmptyCell(row[index]))
      if (isUsed) defects.push(`${headerPlace}: column ${nameLetters(index)} has values, but no name.`)
      return undefined
    }
    if (title === sourceColumn) return sourceColumn
    const column = typeof title === 'string' ? findColumn(title) : undefined
    if (column === undefined) {
      defects.push(`${headerPlace}: unknown column ${describeCell(cell)}. Delete it, or correct its name.`)
    } else if ('expected' in column) {
      defects.push(`${headerPlace}, column ${abbreviate(title)}: expected ${column.expected} after the dot.`)
    } else if (columns.some((other) => other.name === column.name)) {
      defects.push(`${headerPlace}: there are two columns ${column.name}.`)
    } else columns.push(column)
    return showCell(cell).trim()
  })

  const planRows: PlanRow[] = []
  const sources = new Map<string, string>()
  for (const [offset, row] of body.entries()) {
    const place = placeOf(headerIndex + 1 + offset)
    const cells = new Map(
      names.flatMap((column, index): [string, Cell][] => (column === undefined ? [] : [[column, row[index] ?? null]])),
    )
    const source = cells.get(sourceColumn)
    cells.delete(sourceColumn)
    if (!isEmptyCell(source)) sources.set(showCell(source).trim(), place)
    if ([...cells.values()].some((cell) => !isEmptyCell(cell))) planRows.push({ place, cells })
  }
  const namedColumns = (range: CellRange) =>
    names.slice(range.startCol, range.endCol + 1).filter((column) => column !== undefined)
  for (const range of merges) {
    const [column] = namedColumns(range)
    if (range.endRow <= headerIndex || column === undefined) continue
    const where = placeOf(range.startRow, range.endRow)
    defects.push(`${where}, column ${column}: the cells are merged. Split them, and write a value into each.`)
  }
  return {
    columns,
    rows: planRows,
    format,
    headerPlace,
    defects: [...defects, ...checkSources(sources)],
    ...readSource(sources),
  }
}

function checkSources(sources: ReadonlyMap<string, string>): string[] {
  return [...sources].flatMap(([text, place], index) => {
    const column = `${place}, column ${sourceColumn}`
    if (!parseSource(text)) return [`${column}: expected the text of an export, or nothing; found ${abbreviate(text)}.`]
    if (index === 0) return []
    return [`${column}: the rows are from different exports. Import each by itself, or delete this column.`]
  })
}

function readSource(sources: ReadonlyMap<string, string>): ExportSource {
  const [text = ''] = sources.keys()
  return parseSource(text) ?? {}
}

/** Names a column as spreadsheets do: A, B, …, Z, AA. */
function nameLetters(index: number): string {
  const last = String.fromCharCode(65 + (index % 26))
  return index < 26 ? last : `${nameLetters(Math.floor(index / 26) - 1)}${last}`
}
