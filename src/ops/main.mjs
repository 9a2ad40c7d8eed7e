// npm run -s ops -- <noun> <verb> [flags]. This file is JavaScript, because a Node that is too old can't run TypeScript.
import { readFileSync } from 'node:fs'
import module from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const manifest = readFileSync(join(dirname(fileURLToPath(import.meta.url)), '../../package.json')).toString()
const [, minVersion = ''] = /"node": ">=(.*)"/.exec(manifest) ?? []
if (process.versions.node.localeCompare(minVersion, 'en', { numeric: true }) < 0) {
  console.error(`Node ${minVersion} or newer is needed; this is ${process.version}.`)
  process.exit(2)
}

// The cache and the hook below make every command start faster.
module.enableCompileCache(join(import.meta.dirname, '../../node_modules/.cache/compiled'))

// For each imported file, Node parses the package.json of its package to learn whether the file is an ES module. drizzle-orm has many
// files, and a package.json of 180 kB. The hook tells Node that they are ES modules.
module.registerHooks({
  resolve(specifier, context, nextResolve) {
    const isDrizzleFile = /^\.\.?\/.*\.js$/.test(specifier) && context.parentURL?.includes('/node_modules/drizzle-orm/')
    if (!isDrizzleFile) return nextResolve(specifier, context)
    return { url: new URL(specifier, context.parentURL).href, format: 'module', shortCircuit: true }
  },
})

const { runProgram } = await import('./run-program.ts')
await runProgram()
