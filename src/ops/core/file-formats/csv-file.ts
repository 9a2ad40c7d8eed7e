// CSV files as spreadsheets write and read them.
import { CsvError, parse } from 'csv-parse/sync'
import { stringify } from 'csv-stringify/sync'
import type { Cell } from './plan-cells.ts'
import type { Sheet, Spreadsheet } from './plan-table.ts'
import { UserError } from '../../shared/user-error.ts'

/** Enough for 50,000 plans. More cells could fill the memory. */
const maxCells = 5_000_000
const tooManyCells = `The file has more than ${maxCells.toLocaleString('en')} cells. Copy the rows and columns of the plans into a new file.`

/** Formats rows of text cells. The CSV begins with a byte order mark, so that Excel reads it as UTF-8. */
export function formatCsv({ rows }: Pick<Sheet, 'rows'>): string {
  return stringify(
    rows.map((row) => [...row]),
    { bom: true, record_delimiter: '\r\n', quoted_match: /[\r\n]/ },
  )
}

/** @throws UserError for a text that is no CSV, or has too many cells. */
export function parseCsv(text: string): Spreadsheet {
  try {
    let cellCount = 0
    const rows: Cell[][] = parse(text, {
      delimiter: detectDelimiter(text),
      record_delimiter: ['\r\n', '\n', '\r'],
      relax_column_count: true,
      on_record: (row: string[]) => {
        cellCount += row.length
        if (cellCount > maxCells) throw new UserError(tooManyCells)
        return row
      },
    })
    return { sheets: [{ name: undefined, rows }], format: { isCsv: true } }
  } catch (error) {
    if (!(error instanceof CsvError)) throw error
    const place = `row ${Number(error['records']) + 1}, cell ${Number(error['index']) + 1}`
    throw new UserError(`The file is not CSV: in ${place}, a quote is missing, or there is one too many.`)
  }
}

/** Chooses the most frequent delimiter of the line with the names of the columns, because no name of a column contains a delimiter. */
function detectDelimiter(text: string): string {
  const [header = ''] = /^.*identifier.*$/im.exec(text) ?? []
  const countCells = (delimiter: string) => header.split(delimiter).length
  const [mostFrequentDelimiter = ','] = [',', ';', '\t', '|'].toSorted((a, b) => countCells(b) - countCells(a))
  return mostFrequentDelimiter
}
