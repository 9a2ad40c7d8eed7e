// LibreOffice without a window, which edits and saves spreadsheets as an operator does. `soffice` must be in PATH.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { runFile } from '../../support/run-file.ts'

/** The filter and its options, as in LibreOffice's "Edit filter settings". */
export const saveAs = {
  xlsx: ['Calc MS Excel 2007 XML', ''],
  csv: ['Text - txt - csv (StarCalc)', '44,34,76,1'],
  semicolons: ['Text - txt - csv (StarCalc)', '59,34,76,1'],
  utf16: ['Text - txt - csv (StarCalc)', '9,34,65535,1'],
} as const

const xml = '<?xml version="1.0" encoding="UTF-8"?>'

export type SaveFormat = keyof typeof saveAs

/** A macro opens a file, runs statements of LibreOffice Basic on `sheet`, and saves it in each format. */
function writeMacro(source: string, edit: string, targets: Readonly<Record<string, SaveFormat>>): string {
  const store = Object.entries(targets).map(([file, format]) => {
    const [filter, options] = saveAs[format]
    return `doc.storeToURL(ConvertToURL("${file}"), Array(Prop("FilterName", "${filter}"), Prop("FilterOptions", "${options}")))`
  })
  return `Function Prop(name, value)
  Dim p As New com.sun.star.beans.PropertyValue
  p.Name = name
  p.Value = value
  Prop = p
End Function
Function Column(sheet, title)
  For i = 0 To 99
    If sheet.getCellByPosition(i, 0).String = title Then
      Column = i
      Exit Function
    End If
  Next
  Column = -1
End Function
Sub Main
  doc = StarDesktop.loadComponentFromURL(ConvertToURL("${source}"), "_blank", 0, Array(Prop("Hidden", True)${
    source.endsWith('.csv')
      ? ', Prop("FilterName", "Text - txt - csv (StarCalc)"), Prop("FilterOptions", "44,34,76,1")'
      : ''
  }))
  sheet = doc.Sheets.getByIndex(0)
  ${edit}
  ${store.join('\n  ')}
  doc.close(True)
End Sub`
}

/**
 * @param folder an empty folder for the profile of LibreOffice.
 * @param edit statements of LibreOffice Basic, which know `doc`, `sheet` and `Column(sheet, title)`.
 * @param targets paths of files to save, and their formats.
 */
export async function editInLibreOffice(
  folder: string,
  source: string,
  targets: Readonly<Record<string, SaveFormat>>,
  edit = '',
): Promise<void> {
  const run = async (...args: string[]) => {
    const options = ['--headless', '--norestore', `-env:UserInstallation=file://${folder}`]
    await runFile('soffice', [...options, ...args], { timeout: 120_000 })
  }
  // The first start makes the profile, with an empty module of this name.
  await run('--terminate_after_init')
  const code = writeMacro(source, edit, targets).replaceAll('&', '&amp;').replaceAll('<', '&lt;')
  const module = `${xml}<script:module xmlns:script="http://openoffice.org/2000/script" script:name="Module1" script:language="StarBasic">${code}</script:module>`
  await writeFile(join(folder, 'user/basic/Standard/Module1.xba'), module)
  await run('macro:///Standard.Module1.Main')
}
