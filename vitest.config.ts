import { cloudflareTest, readD1Migrations } from '@cloudflare/vitest-pool-workers'
import { defineConfig } from 'vitest/config'
import { generateJwk } from './src/crypto/signing-keys.ts'

// A random key for each run.
const JWT_KEYS = JSON.stringify({ keys: [generateJwk()] })
// Wrangler warns when a required secret is missing here. The binding below takes precedence over .dev.vars.
process.env['JWT_KEYS'] = JWT_KEYS
const bindings = {
  JWT_KEYS,
  TEST_MIGRATIONS: await readD1Migrations('migrations'),
}

// workerd warns about each header with a non-ASCII value. The fuzz test sends thousands of them.
const writeOutput = process.stdout.write.bind(process.stderr) as (...args: unknown[]) => boolean
process.stdout.write = (...args: unknown[]) =>
  String(args[0]).includes('contains non-ASCII characters') || writeOutput(...args)

const workerTests = ['test/{worker,crypto,db}/**/*.test.ts', 'test/site/client/*.test.ts']
const nodeTests = ['test/{ops,catalog,bench}/**/*.test.ts']
const browserTests = ['test/site/browser/**/*.test.ts']
const slowTests = ['**/*.slow.test.ts']

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
      provide: { propertyRuns },
      maxWorkers: isSlow ? 1 : '100%',
      projects: [
        {
          plugins: [cloudflareTest({ wrangler: { configPath: './wrangler.toml' }, miniflare: { bindings } })],
          test: {
            name: 'worker',
            include: isSlow ? ['test/{worker,crypto}/**/*.test.ts'] : workerTests,
            exclude: isSlow ? [] : slowTests,
            // Starting workerd takes longer than most files. fresh-stores.ts keeps the files apart.
            isolate: false,
            setupFiles: ['test/worker/support/fresh-stores.ts', 'test/support/properties.ts'],
            testTimeout,
          },
        },
        {
          test: {
            name: 'node',
            include: isSlow ? ['test/catalog/**/*.test.ts', ...slowTests] : nodeTests,
            exclude: isSlow ? ['test/worker/**'] : slowTests,
            isolate: false,
            setupFiles: ['test/support/fresh-modules.ts', 'test/support/properties.ts'],
            testTimeout,
            hookTimeout: 60_000,
          },
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
