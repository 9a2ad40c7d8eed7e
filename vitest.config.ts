import { globSync, readFileSync } from 'node:fs'
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

const workerTests = ['test/{worker,api,crypto,db,ops/core,site/client}/**/*.test.ts']
/** The tests of src/ops/core run in workerd, where D1 is in the same process, but for those that need Node or no database. */
const nodeCoreTests = ['test/ops/core/**/*.node.test.ts']
const nodeTests = ['test/{account,ops,catalog,town}/**/*.test.ts', 'test/site/*.test.ts', 'test/*.test.ts']
const browserTests = ['test/site/browser/**/*.test.ts']
const listFilesWith = (text: string, glob: string) =>
  globSync(glob).filter((file) => readFileSync(file, 'utf8').includes(text))
/** The files with properties, which try many more cases in the slow mode. */
const listProperties = (glob: string) => listFilesWith("from 'fast-check'", glob)
/** A mocked module would reach the other files of a process. */
const mockingTests = listFilesWith('vi.mock(', 'test/{catalog,ops}/**/*.test.ts')
const onlySlow = (tests: string[]) => tests.map((glob) => glob.replace('.test.ts', '.slow.test.ts'))

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
            cloudflareTest({ wrangler: { configPath: './wrangler.toml' }, miniflare: { bindings }, verbose: false }),
          ],
          test: {
            name: 'worker',
            include: isSlow
              ? [...onlySlow(workerTests), ...listProperties('test/{worker,crypto}/**/*.test.ts')]
              : workerTests,
            exclude: [...nodeCoreTests, ...(isSlow ? [] : onlySlow(workerTests))],
            // Starting workerd takes longer than most files. fresh-stores.ts keeps the files apart.
            isolate: false,
            setupFiles: ['test/worker/support/fresh-stores.ts', 'test/support/properties.ts'],
            testTimeout,
          },
        },
        {
          test: {
            name: 'node',
            // They try more in the slow mode: all languages, and each arrival of a write on each store.
            include: isSlow
              ? [
                  ...onlySlow(nodeTests),
                  ...listProperties('test/{catalog,ops/core/{file-formats,differences}}/*.test.ts'),
                  'test/site/samples.test.ts',
                  'test/ops/store/conformance.test.ts',
                ]
              : nodeTests,
            exclude: ['test/ops/core/**/!(*.node).test.ts', ...mockingTests, ...(isSlow ? [] : onlySlow(nodeTests))],
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
          test: { name: 'mocks', include: mockingTests, testTimeout },
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
