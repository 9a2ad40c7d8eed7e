// npm run -s ops -- <noun> <verb> [flags]. JavaScript, so that an older Node can say that it is too old.
import { readFileSync } from 'node:fs'
import module from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const manifest = readFileSync(join(dirname(fileURLToPath(import.meta.url)), '../../package.json')).toString()
const [, oldest = ''] = /"node": ">=(.*)"/.exec(manifest) ?? []
if (process.versions.node.localeCompare(oldest, 'en', { numeric: true }) < 0) {
  console.error(`Node ${oldest} or newer is needed; this is ${process.version}.`)
  process.exit(2)
}

// Both make the imports that follow cheaper.
module.enableCompileCache(join(import.meta.dirname, '../../node_modules/.cache/compiled'))

// To learn that a file is an ES module, Node parses package.json, for each file again. That of drizzle-orm has 180 kB.
module.registerHooks({
  resolve(specifier, context, nextResolve) {
    const isOwnFile = /^\.\.?\/.*\.js$/.test(specifier) && context.parentURL?.includes('/node_modules/drizzle-orm/')
    if (!isOwnFile) return nextResolve(specifier, context)
    return { url: new URL(specifier, context.parentURL).href, format: 'module', shortCircuit: true }
  },
})

const { runProgram } = await import('./run-program.ts')
await runProgram()
