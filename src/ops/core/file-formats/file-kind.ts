// Detects the kind of a file by its content, because its name may be wrong.
import { unzipSync } from 'fflate'
import { UserError } from '../../shared/user-error.ts'

const saveAs = 'Open it in a spreadsheet, and save it as .xlsx.'

type Kind = [pattern: RegExp, name: string, fix: string]

/** Kinds of files that can’t be read. The pattern is for their first 4,000 bytes, or for all bytes of an old Office file, as `showBytes` returns them. */
const kinds: readonly Kind[] = [
  [
    /^ÐÏ.à.*EncryptedPackage/s,
    'encrypted, for example with a password',
    'Save a copy without the password as .xlsx. In Excel, empty the password in File, Info, Protect Workbook, Encrypt with Password.',
  ],
  [/^ÐÏ.à|^\t(?!\s)\p{Cc}/u, 'an old Office file, such as .xls', saveAs],
  [/^\s*<(?:(?:.*<)?html|!doctype html|table|meta|style|head|body|div)\b/is, 'a web page (HTML)', saveAs],
  [/^\s*<\?xml/, 'XML', saveAs],
  [/^MIME-Version:/i, 'a web page in one file (MHTML)', saveAs],
  [/^(?:\p{Cc}‹|7z¼¯|Rar!)/u, 'packed', 'Unpack it first.'],
  [/^%PDF/, 'a PDF', 'Ask its sender for the spreadsheet.'],
  [/^\{\\rtf/, 'a document (RTF)', 'Ask its sender for the spreadsheet.'],
]

/** Kinds of ZIP archives that can’t be read. The pattern is for the list of their parts: one name a line. */
const archiveKinds: readonly Kind[] = [
  [/^xl\/workbook\.bin$/m, 'an .xlsb workbook', saveAs],
  [/\.iwa$|^Index\.zip$/m, 'a Numbers document', 'In Numbers, choose File, Export To, Excel.'],
  [/^content\.xml$/m, 'an OpenDocument file, such as .ods', saveAs],
  [/^(?:word|ppt)\//m, 'a Word or PowerPoint document', 'Ask its sender for the spreadsheet.'],
  [
    /^(?!(?:.*\n)?\[Content_Types\]\.xml(?:\n|$))./s,
    'a ZIP archive',
    'Unpack it, and take the .xlsx or .csv file in it.',
  ],
]

/** Detects the kind of a file that can be read. @throws UserError for any other file. Its message says what the file is, and how to get a readable file. */
export function detectFileKind(bytes: Uint8Array): 'xlsx' | 'text' {
  const start = showBytes(bytes.subarray(0, 4000))
  const isArchive = start.startsWith('PK\u0003\u0004')
  // An encrypted workbook starts like an old Office file. The name of its encrypted part can stand anywhere in the file.
  const content = start.startsWith('ÐÏ') ? showBytes(bytes) : start
  const unreadableKind = isArchive
    ? archiveKinds.find(([pattern]) => pattern.test(listParts(bytes)))
    : kinds.find(([pattern]) => pattern.test(content))
  if (unreadableKind === undefined) return isArchive ? 'xlsx' : 'text'
  const [, name, fix] = unreadableKind
  throw new UserError([`The file is ${name}.`, fix])
}

/** @returns a character for each byte. Leaves out a byte order mark, and zero bytes: ASCII in UTF-16 has a zero byte beside each letter. */
function showBytes(bytes: Uint8Array): string {
  return new TextDecoder('latin1').decode(bytes).replaceAll(/^(?:ÿþ|þÿ|ï»¿)|\0/g, '')
}

/** @returns the names of the parts of an archive, one in each line; an empty text for a damaged archive, which none of `archiveKinds` matches. */
function listParts(bytes: Uint8Array): string {
  const names: string[] = []
  const collectName = ({ name }: { name: string }) => {
    names.push(name)
    return false // The part is not unpacked.
  }
  try {
    unzipSync(bytes, { filter: collectName })
  } catch {
    return ''
  }
  return names.join('\n')
}
