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

// The suffix of a test says where it runs: `*.slow.test.ts` in the slow mode only; `*.thorough.test.ts` also there, with many more
// cases; `*.mocks.test.ts` alone in its process, which a mocked module would spoil for other files; `*.worker.test.ts` of src/ops/core
// in workerd.
const workerTests = ['test/{worker,api,crypto,db,site/client}/**/*.test.ts', 'test/ops/core/**/*.worker.test.ts']
const nodeTests = ['test/{account,ops,catalog,town}/**/*.test.ts', 'test/site/*.test.ts', 'test/*.test.ts']
const mockingTests = 'test/**/*.mocks.test.ts'
const browserTests = ['test/site/browser/**/*.test.ts']
const onlySlow = (tests: string[]) => tests.map((glob) => glob.replace('.test.ts', '.slow.test.ts'))
const inSlowMode = (tests: string[]) => tests.map((glob) => glob.replace('.test.ts', '.{slow,thorough}.test.ts'))

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

/**
 * `npm test` runs every test but the slow ones, on all cores. `npm run test:slow` (--mode slow) runs the slow ones, and the
 * properties with many more cases, one file at a time: some of them measure time.
 */
export default defineConfig(({ mode }) => {
  const isSlow = mode === 'slow'
  const propertyRuns = isSlow ? 20_000 : 100
  // A refusal of an unknown client is quick, except where its time is measured.
  const workerBindings = isSlow ? bindings : { ...bindings, PBKDF2_ITERATIONS: 1000 }
  const testTimeout = isSlow ? 20 * 60_000 : 60_000
  return {
    test: {
      // Shows the Worker's log lines of a failed test only.
      silent: 'passed-only',
      provide: { propertyRuns, isSlow },
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
            include: isSlow ? inSlowMode(workerTests) : workerTests,
            exclude: [mockingTests, ...(isSlow ? [] : onlySlow(workerTests))],
            // Starting workerd takes longer than most files. fresh-stores.ts keeps the files apart.
            isolate: false,
            setupFiles: ['test/worker/support/fresh-stores.ts', 'test/support/properties.ts'],
            testTimeout,
          },
        },
        {
          test: {
            name: 'node',
            include: isSlow ? inSlowMode(nodeTests) : nodeTests,
            exclude: ['test/ops/core/**/*.worker.test.ts', mockingTests, ...(isSlow ? [] : onlySlow(nodeTests))],
            // Importing takes longer than most files.
            isolate: false,
            restoreMocks: true,
            unstubEnvs: true,
            setupFiles: ['test/support/properties.ts'],
            testTimeout,
            hookTimeout: 60_000,
          },
        },
        {
          test: { name: 'mocks', include: [mockingTests], testTimeout },
        },
        {
          test: {
            name: 'browser',
            include: browserTests,
            globalSetup: 'test/site/browser/start-site.ts',
            testTimeout,
          },
        },
      ],
    },
  }
})
