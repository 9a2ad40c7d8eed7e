// Runs before each Node test file. The files share processes, so that wrangler and Miniflare load once for all of them; this
// project's own modules are evaluated again for each file.
import { vi } from 'vitest'

vi.resetModules()
