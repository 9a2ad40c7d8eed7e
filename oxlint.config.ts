// The linter's rules. Imports are denied by default: `rows` lists what is allowed.
import { existsSync, readdirSync, statSync } from 'node:fs'
import { posix } from 'node:path'
import { defineConfig, type OxlintOverride } from 'oxlint'

interface Row {
  /** A folder without the folders in it. */
  in: string
  /** Replaces the folder's row for these files of it. */
  files?: string[]
  /** Files, and folders without the folders in them. */
  may?: string[]
  packages?: string[]
  /** Folders of which only types may be imported: a value would also load everything that its file imports. */
  types?: string[]
}

/** The files of src/catalog that don't load zod, which is four times as large as the Worker. */
const lightCatalog = ['plan-filters', 'plan-document', 'merge-plan', 'merge-rules', 'fit'].map(
  (name) => `src/catalog/${name}.ts`,
)
/** The files of src/db that don't load drizzle's query builder, which would make the Worker a fifth larger. */
const lightDb = [
  'client-queries',
  'database',
  'leftovers',
  'plan-queries',
  'publish',
  'rebase',
  'stage-publication',
].map((name) => `src/db/${name}.ts`)
const workerParts = ['app-env.ts', 'bounded-map.ts', 'deadline.ts', 'log.ts', 'rate-limit.ts'].map(
  (file) => `src/worker/${file}`,
)
const workerFolders = ['http', 'cache', 'access', 'token', 'plans'].map((name) => `src/worker/${name}`)
const rooms = (...names: string[]) => names.map((name) => `src/ops/core/${name}`)
const belowCommands = [
  'src',
  'src/api',
  'src/catalog',
  'src/crypto',
  'src/ops/store',
  'src/ops/shared',
  'src/ops/terminal',
]
const belowCore = ['src', 'src/api', 'src/catalog', 'src/crypto', 'src/db', 'src/ops/store', 'src/ops/shared']
const frame = 'src/ops/commands/frame'
const commandFolders = ['catalog', 'plans', 'partners', 'keys', 'service'].map((name) => `src/ops/commands/${name}`)

/** What the files of each folder may import, besides each other. A folder without a row imports nothing from outside. */
const rows: Row[] = [
  // What the programs share.
  { in: 'src' },
  { in: 'src/crypto', may: ['src'], packages: ['hono/jwt'] },
  { in: 'src/catalog', may: ['src'], types: ['src/db'], packages: ['zod', 'currency-codes', 'iso-3166'] },
  { in: 'src/catalog', files: lightCatalog, may: ['src', ...lightCatalog], types: ['src/catalog'] },
  { in: 'src/db', may: ['src', ...lightCatalog], types: ['src/catalog'], packages: ['drizzle-orm'] },
  { in: 'src/api', may: ['src/crypto', 'src/catalog/plan-filters.ts'] },

  // The Worker.
  { in: 'src/worker/http', may: ['src/api', ...workerParts], packages: ['hono'] },
  {
    in: 'src/worker/cache',
    may: ['src', 'src/api', 'src/crypto', ...lightDb, ...workerParts],
    types: ['src/catalog', 'src/db'],
    packages: ['hono'],
  },
  { in: 'src/worker/access', may: ['src/crypto', ...workerParts, 'src/worker/http'], types: ['src/db'] },
  {
    in: 'src/worker/token',
    may: ['src/api', 'src/crypto', ...workerParts, 'src/worker/http', 'src/worker/cache'],
    types: ['src/db'],
  },
  {
    in: 'src/worker/plans',
    may: [
      'src/api',
      'src/catalog/plan-filters.ts',
      ...workerParts,
      'src/worker/http',
      'src/worker/cache',
      'src/worker/access',
    ],
    types: ['src/catalog'],
  },
  {
    in: 'src/worker',
    may: ['src/api', 'src/catalog/fit.ts', ...lightDb, ...workerFolders],
    types: ['src/db'],
    packages: ['hono'],
  },

  // The document of the API, and the site.
  { in: 'src/openapi', may: ['src/api', 'src/catalog'], packages: ['zod', 'node:*'] },
  { in: 'src/site/client', may: ['src/catalog/plan-filters.ts'], types: ['src/catalog'], packages: ['node:*'] },
  {
    in: 'src/site/browser',
    may: ['src', 'src/api', 'src/catalog/plan-filters.ts', 'src/site', 'src/site/blocks', 'src/site/client'],
    types: ['src/catalog'],
    packages: ['hono'],
  },
  {
    in: 'src/site/blocks',
    may: ['src', 'src/api', 'src/catalog', 'src/openapi', 'src/site'],
    packages: ['hono', 'node:*'],
  },
  {
    in: 'src/site',
    may: ['src', 'src/api', 'src/catalog', 'src/openapi', 'src/site/blocks', 'src/site/client'],
    packages: ['esbuild', 'highlight.js', 'hono', 'marked', 'minisearch', 'node:*'],
  },

  // The command line.
  { in: 'src/ops/shared', may: ['src', 'src/api', 'src/catalog/country-codes.ts', 'src/crypto'] },
  {
    in: 'src/ops/store',
    may: ['src', 'src/api', 'src/db', 'src/ops/shared'],
    packages: ['miniflare', 'smol-toml', 'zod', 'node:*'],
  },
  {
    in: 'src/ops/terminal',
    may: ['src', 'src/ops/shared'],
    packages: ['fast-string-truncated-width', 'fast-wrap-ansi', 'yocto-spinner', 'node:*'],
  },

  // What the commands do.
  { in: 'src/ops/core/record', may: belowCore },
  {
    in: 'src/ops/core/file-formats',
    may: belowCore,
    packages: ['csv-parse', 'csv-stringify', 'fflate', 'hucre', 'zod'],
  },
  { in: 'src/ops/core/differences', may: [...belowCore, ...rooms('file-formats')], packages: ['zod', 'node:util'] },
  { in: 'src/ops/core/plan-rules', may: [...belowCore, ...rooms('differences')] },
  {
    in: 'src/ops/core/publications',
    may: [...belowCore, ...rooms('record', 'file-formats', 'differences', 'plan-rules')],
  },
  {
    in: 'src/ops/core/catalog',
    may: [...belowCore, ...rooms('file-formats', 'differences', 'plan-rules', 'publications')],
    packages: ['node:path'],
  },
  { in: 'src/ops/core/partners', may: [...belowCore, ...rooms('record')] },
  {
    in: 'src/ops/core/plans',
    may: [...belowCore, ...rooms('file-formats', 'differences', 'publications', 'catalog', 'partners')],
  },
  { in: 'src/ops/core/keys', may: [...belowCore, ...rooms('record')] },
  { in: 'src/ops/core/service', may: [...belowCore, ...rooms('plan-rules', 'publications', 'keys')] },

  // The commands.
  {
    in: 'src/ops/commands/frame',
    may: [...belowCommands, ...rooms('record')],
    packages: ['node:*'],
  },
  {
    in: 'src/ops/commands/catalog',
    may: [
      ...belowCommands,
      ...rooms('record', 'file-formats', 'differences', 'plan-rules', 'publications', 'catalog', 'partners'),
      frame,
    ],
  },
  {
    in: 'src/ops/commands/plans',
    may: [
      ...belowCommands,
      ...rooms('differences', 'publications', 'catalog', 'partners', 'plans'),
      frame,
      'src/ops/commands/catalog',
      'src/ops/commands/partners',
    ],
  },
  {
    in: 'src/ops/commands/partners',
    may: [...belowCommands, ...rooms('record', 'partners', 'plans', 'keys'), frame],
  },
  {
    in: 'src/ops/commands/keys',
    may: [...belowCommands, ...rooms('keys'), frame],
  },
  {
    in: 'src/ops/commands/service',
    may: [...belowCommands, ...rooms('plan-rules', 'publications', 'catalog', 'partners', 'keys', 'service'), frame],
    packages: ['node:*'],
  },
  {
    in: 'src/ops/commands',
    may: [...belowCommands, ...rooms('record'), frame, ...commandFolders],
    packages: ['commander', 'node:*'],
  },
  {
    in: 'src/ops',
    may: [
      'src/api',
      'src/crypto',
      ...rooms('service'),
      'src/ops/commands',
      frame,
      'src/ops/shared',
      'src/ops/terminal',
    ],
    packages: ['node:*'],
  },
]

/** @returns how files of the folder name a file that they import, or a glob of how they name the files of another folder. */
function nameImport(folder: string, target: string): string {
  if (!existsSync(target)) throw new Error(`oxlint.config.ts names ${target}, which does not exist.`)
  const path = posix.relative(folder, target)
  const name = path.startsWith('.') ? path : `./${path}`
  return statSync(target).isDirectory() ? `${name}/*` : name
}

/** The linter applies the last rule that matches a file, and in it the last glob that matches an import. */
function toOverride({ in: folder, files = [], may = [], packages = [], types = [] }: Row) {
  const name = (target: string) => nameImport(folder, target)
  for (const file of [folder, ...files]) name(file)
  const allowed = [...[...may, ...types].map(name), ...packages.map((part) => `${part}{,/*}`)]
  const ofTypes = types.flatMap((target) => readdirSync(target).map((file) => `${target}/${file}`))
  const message = `A row of oxlint.config.ts lists what ${folder} may import.`
  const rule = {
    // A name in `paths` is an error although a glob allows it.
    paths: ofTypes
      .filter((file) => !may.includes(file))
      .map((file) => ({ name: name(file), allowTypeImports: true, message: `Only types. ${message}` })),
    patterns: [{ group: ['**', '!./*', ...allowed.map((glob) => `!${glob}`)], message }],
  }
  return restrict(files.length > 0 ? files : [`${folder}/*`], rule)
}

function restrict(files: string[], rule: object) {
  return { files, rules: { 'no-restricted-imports': ['error', rule] } } satisfies OxlintOverride
}

export default defineConfig({
  plugins: ['typescript', 'unicorn', 'oxc', 'import', 'vitest'],
  categories: { correctness: 'error', suspicious: 'error', perf: 'error' },
  ignorePatterns: ['src/worker/worker-configuration.d.ts', 'dist'],
  rules: {
    'no-await-in-loop': 'off',
    'typescript/consistent-return': 'off',
    'import/no-cycle': ['error', { ignoreTypes: false }],
  },
  overrides: [
    {
      files: ['src/**/*.{ts,mts}', 'src/ops/main.mjs'],
      rules: {
        'typescript/no-unsafe-argument': 'error',
        'typescript/no-unsafe-assignment': 'error',
        'typescript/no-unsafe-call': 'error',
        'typescript/no-unsafe-member-access': 'error',
        'typescript/no-unsafe-return': 'error',
      },
    },
    restrict(['src/**'], {
      patterns: [{ group: ['**', '!./*'], message: 'This folder has no row in oxlint.config.ts.' }],
    }),
    ...rows.map(toOverride),
    {
      files: ['test/**'],
      rules: {
        'typescript/no-unsafe-type-assertion': 'off',
        'import/no-named-as-default-member': 'off',
        'unicorn/consistent-function-scoping': 'off',
        'oxc/no-map-spread': 'off',
        'no-control-regex': 'off',
        'vitest/expect-expect': ['error', { assertFunctionNames: ['expect*', 'refused', 'fc.assert'] }],
      },
    },
  ],
})
