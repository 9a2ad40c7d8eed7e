// ops catalog import, update, export, invalidate, check
import type { Declaration } from './verb.ts'
import { pastTimeFlag } from './shared-flags.ts'

/** The flags of the commands that change the catalog from a file. */
const fileFlags = {
  decimalComma: { help: 'numbers in text have a decimal comma, such as 12,4' },
  dryRun: { help: 'show what would change for partners, country by country, and change nothing' },
  overwrite: { help: 'what the file says replaces what the catalog says, also what others changed since the export' },
} as const

const fileCommand = {
  args: { file: {} },
  changes: 'publication',
  store: 'itself',
  asks: 'that --remote asks before plans are changed or removed, or when the change looks wrong',
  json: 'an object: the numbers of plans added, changed, removed and unchanged, the countries, and the publication',
  progress: 'Reading the file',
} as const

export const catalogDeclarations = {
  import: {
    ...fileCommand,
    help: 'import plans from a catalog file (- for standard input), all or none; plans that are not in the file stay',
    example: 'catalog import src/catalog/demo.json --dry-run',
    flags: {
      ...fileFlags,
      prune: { help: 'remove the plans that are not in the file; of the export of a country, only from its list' },
    },
  },
  update: {
    ...fileCommand,
    help: 'change some fields of some plans from a file: rows with identifier and any other columns; an empty cell changes nothing',
    example: 'catalog update performance.xlsx --dry-run',
    flags: fileFlags,
  },
  export: {
    help: 'write the catalog as a file that import reads back unchanged',
    example: 'catalog export --output plans.xlsx',
    flags: {
      country: { value: '<code>', help: 'only the plans that are viewable in this country' },
      at: pastTimeFlag,
      output: {
        value: '<file>',
        help: 'the file to write, or to replace: .xlsx, .csv or .json; JSON on standard output by default',
      },
    },
    store: 'itself',
    progress: 'Reading the catalog',
  },
  invalidate: {
    help: 'invalidate every cached plan list; every change of the catalog does it by itself',
    example: 'catalog invalidate',
    changes: 'at-once',
    json: 'an object with the new revision of the catalog',
  },
  check: {
    help: 'find implausible figures, old dates, empty lists and the like; exits with 3 when there are errors',
    example: 'catalog check',
    json: 'an array of findings',
    progress: 'Reading the catalog',
  },
} as const satisfies Readonly<Record<string, Declaration>>
