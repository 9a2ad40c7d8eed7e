import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { cloudflareTest, readD1Migrations } from '@cloudflare/vitest-pool-workers'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { formatKeyName, generateKey } from './src/crypto/signing-keys.ts'

// Wrangler names the file of the secrets for every test file.
process.env['WRANGLER_LOG'] ??= 'warn'
// Otherwise, each start of workerd asks the internet for an example of request.cf.
process.env['CLOUDFLARE_CF_FETCH_ENABLED'] = 'false'
const bindings = {
  // A random key for each run.
  [formatKeyName('1700000000')]: generateKey(),
  TEST_MIGRATIONS: await readD1Migrations('migrations'),
}

// The suffix of a test says when it runs:
// - `*.test.ts` in `npm test`, and `*.thorough.test.ts` also every night, with many more cases.
// - `*.ci.test.ts` on every change, in .ci/run, and every night. `*.slow.test.ts` every night: `npm run test:slow`.
// - `*.mocks.test.ts` on every change, in .ci/run, each alone in a process, because a mocked module would spoil other files. Their
//   processes would cost a tenth of `npm test`. For one of them: `npx vitest run --mode ci --project mocks`.
const modes = {
  test: { include: '*.test.ts', exclude: ['**/*.{ci,slow,mocks}.test.ts'], propertyRuns: 25 },
  ci: { include: '*.ci.test.ts', exclude: [], propertyRuns: 25 },
  slow: { include: '*.{ci,slow,thorough}.test.ts', exclude: [], propertyRuns: 500 },
}
const workerFolders = ['test/{crypto,site/client}/**', 'test/worker', 'test/worker/!(cache)/**']
const nodeFolders = ['test/{account,api,catalog,db,ops,town,worker/cache}/**', 'test/site', 'test']

/** The cases of a file may be in the support that it imports. */
function measureFile({ moduleId }: TestSpecification): number {
  const text = readFileSync(moduleId, 'utf8')
  const support = [...text.matchAll(/'(\S+\/support\/\S+)'/g)].map(([, path = '']) => join(dirname(moduleId), path))
  return support.reduce((sum, file) => sum + readFileSync(file, 'utf8').length, text.length)
}

/** Starts with the longest files, so that none runs alone at the end. Those of a project stay together: they share a process. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]) {
    return files.toSorted((a, b) => a.project.name.localeCompare(b.project.name) || measureFile(b) - measureFile(a))
  }
}

/** The slow mode runs one file at a time: some of them measure time. */
export default defineConfig(({ mode }) => {
  const isSlow = mode === 'slow'
  const { include, exclude, propertyRuns } = modes[isSlow || mode === 'ci' ? mode : 'test']
  const filesOf = (folders: string[]) => ({ include: folders.map((folder) => `${folder}/${include}`), exclude })
  const propertySeed = Number(process.env['SEED'] ?? Date.now() % 2 ** 31)
  if (isSlow)
    console.log(`${propertyRuns} cases of each property. To try the same: SEED=${propertySeed} npm run test:slow`)
  // A refusal of an unknown client is quick, except where its time is measured.
  const workerBindings = mode === 'test' ? { ...bindings, PBKDF2_ITERATIONS: 1000 } : bindings
  // On every change, they share the machine with a server, browsers and a simulation.
  const testTimeout = mode === 'test' ? 60_000 : 20 * 60_000
  return {
    test: {
      // Shows the Worker's log lines of a failed test only.
      silent: 'passed-only',
      provide: { propertyRuns, propertySeed, isSlow },
      maxWorkers: isSlow ? 1 : '100%',
      sequence: { sequencer: LongestFirst },
      projects: [
        {
          // Not verbose: workerd would warn about each header with a non-ASCII value, of which the fuzz test sends thousands.
          plugins: [
            cloudflareTest({
              wrangler: { configPath: './wrangler.toml' },
              miniflare: { bindings: workerBindings },
              verbose: false,
            }),
          ],
          test: {
            name: 'worker',
            ...filesOf(workerFolders),
            // Starting workerd takes longer than most files. fresh-stores.ts keeps the files apart.
            isolate: false,
            setupFiles: ['test/worker/support/fresh-stores.ts', 'test/support/properties.ts'],
            testTimeout,
          },
        },
        {
          test: {
            name: 'node',
            ...filesOf(nodeFolders),
            // Importing takes longer than most files. Node itself imports what needs no mocked module.
            isolate: false,
            experimental: { viteModuleRunner: false },
            restoreMocks: true,
            unstubEnvs: true,
            setupFiles: ['test/support/properties.ts'],
            testTimeout,
            hookTimeout: testTimeout,
          },
        },
        {
          test: { name: 'mocks', include: mode === 'ci' ? ['test/**/*.mocks.test.ts'] : [], testTimeout },
        },
        {
          test: {
            name: 'browser',
            include: ['test/site/browser/*.test.ts'],
            globalSetup: 'test/site/browser/start-site.ts',
            testTimeout,
          },
        },
      ],
    },
  }
})
