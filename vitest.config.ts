import { cloudflareTest, readD1Migrations } from '@cloudflare/vitest-pool-workers'
import { defineConfig } from 'vitest/config'
import { generateJwk } from './src/crypto/signing-keys.ts'

// A key for tests alone: random, and new in every run.
const JWT_KEYS = JSON.stringify({ keys: [generateJwk()] })
// Wrangler looks for required secrets here, and else warns; the binding wins over a .dev.vars.
process.env['JWT_KEYS'] = JWT_KEYS
// Wrangler names the file of the secrets for every test file.
process.env['WRANGLER_LOG'] ??= 'warn'
const bindings = {
  JWT_KEYS,
  TEST_MIGRATIONS: await readD1Migrations('migrations'),
}

// npm run test:fuzz: cases of each property that does not say itself how many it needs.
const propertyRuns = Number(process.env['PROPERTY_RUNS'] ?? 100)
const propertyTimeout = Math.max(60_000, 60 * propertyRuns)

const workerTests = ['test/{worker,crypto,db,ops/core}/**/*.test.ts', 'test/site/client/*.test.ts']
const nodeTests = ['test/{ops/commands,ops/store,catalog,simulation}/**/*.test.ts', 'test/site/build.test.ts']
const browserTests = ['test/site/browser/**/*.test.ts']

export default defineConfig({
  test: {
    // The Worker's log lines show where a test fails.
    silent: 'passed-only',
    provide: { propertyRuns },
    projects: [
      {
        // Not verbose: the runtime would warn about every strange header that the tests send.
        plugins: [
          cloudflareTest({ wrangler: { configPath: './wrangler.toml' }, miniflare: { bindings }, verbose: false }),
        ],
        test: {
          name: 'worker',
          include: workerTests,
          setupFiles: ['test/worker/support/migrate.ts', 'test/support/properties.ts'],
          testTimeout: propertyTimeout,
        },
      },
      {
        test: {
          name: 'node',
          include: nodeTests,
          exclude: ['**/*.slow.test.ts'],
          setupFiles: ['test/support/properties.ts'],
          testTimeout: propertyTimeout,
          hookTimeout: 60_000,
        },
      },
      {
        test: {
          name: 'browser',
          include: browserTests,
          globalSetup: 'test/site/browser/start-site.ts',
          testTimeout: 60_000,
        },
      },
    ],
  },
})
