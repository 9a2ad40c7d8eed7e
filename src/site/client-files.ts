// Makes the clients that partners copy: joins the files in client/ with generated types, and packs one client for npm.
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { parseTrusted } from '../json.ts'
import { formatTypeScriptTypes } from '../openapi/client-types.ts'
import { formatPythonTypes } from '../openapi/python-types.ts'
import { clientVersion } from './client/investment-plans.mts'

const runProgram = promisify(execFile)

/** Writes both clients, and packs one for npm. Returns the name and the checksum of the package's file. @param folder an absolute path, with a subfolder `client` */
export async function writeClients(folder: string) {
  // Replaces the imports of types by the types, because partners get a single file.
  const writeClient = async (file: string, imports: RegExp, types: string) => {
    const text = await readFile(join(import.meta.dirname, file), 'utf8')
    // A function, because `replace` interprets a `$` in a text.
    const textWithTypes = text.replace(imports, () => types)
    await writeFile(join(folder, file), textWithTypes)
  }
  const typescript = 'client/investment-plans.mts'
  await writeClient(typescript, /^import .*\nimport .*\n/m, formatTypeScriptTypes())
  await writeClient('client/investment_plans.py', /^from plan_types .*\n/m, formatPythonTypes())
  return packClient(await readFile(join(folder, typescript), 'utf8'), folder)
}

/** Packs the TypeScript client and its types for npm, as a CommonJS package, which both `require` and `import` load. @param folder an absolute path. @returns as `writeClients` */
async function packClient(clientSource: string, folder: string) {
  const draft = await mkdtemp(join(tmpdir(), 'client-'))
  try {
    const description = 'Lists the investment plans of your country.'
    const files = ['index.js', 'index.d.ts']
    const manifest = { name: 'investment-plans', version: clientVersion, description, files }
    await writeFile(join(draft, 'package.json'), JSON.stringify(manifest))
    await writeFile(join(draft, 'index.ts'), clientSource)
    const tsc = join(import.meta.dirname, '../../node_modules/.bin/tsc')
    const settings = '--strict --declaration --module node20 --target es2022 --lib es2023,dom'.split(' ')
    const noInstalledTypes = ['--types', '']
    await runProgram(tsc, [...settings, ...noInstalledTypes, 'index.ts'], { cwd: draft })
    // npm's default cache is in the home folder, which may not be writable.
    const packArguments = ['pack', '--json', '--pack-destination', folder, '--cache', 'cache']
    const { stdout } = await runProgram('npm', packArguments, { cwd: draft })
    const [npmPackage] = parseTrusted<[{ filename: string; integrity: string }]>(stdout)
    return npmPackage
  } finally {
    await rm(draft, { recursive: true })
  }
}
