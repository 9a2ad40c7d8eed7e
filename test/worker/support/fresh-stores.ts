// Runs before each test file. All files share one workerd, so each begins with empty stores and an isolate that caches nothing.
import { applyD1Migrations, reset } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { startNewIsolate } from './isolate.ts'

await reset()
await applyD1Migrations(env.DB, env.TEST_MIGRATIONS)
startNewIsolate()
