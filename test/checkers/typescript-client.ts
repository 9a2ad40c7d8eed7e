// node test/checkers/typescript-client.ts --url http://localhost:8787 : uses the TypeScript client as the page "Clients" says: as a
// package in a CommonJS folder, and as a file. It runs on the Node that runs this, and compiles with TypeScript 5.9 and the newest. The
// credentials of a partner are in CLIENT_ID, CLIENT_SECRET and SHORT_NAME.
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs, promisify } from 'node:util'

const root = join(import.meta.dirname, '../..')
const compilers = ['test/checkers/node_modules/typescript-5.9', 'node_modules/typescript']

const { url = '' } = parseArgs({ options: { url: { type: 'string' } } }).values
const folder = await mkdtemp(join(tmpdir(), 'typescript-client-'))
try {
  await check()
} finally {
  await rm(folder, { recursive: true })
}

async function check(): Promise<void> {
  const page = await download('client.md')
  const write = (file: string, text: string) => writeFile(join(folder, file), text)
  // As `npm init -y` writes it.
  await write('package.json', '{ "type": "commonjs" }')
  const [address = ''] = new RegExp(`${url}/.*\\.tgz`).exec(page) ?? []
  await run('npm', 'install', '--no-audit', '--no-fund', address)
  const integrity = findBlock(page, 'text').trim()
  const lock = await readFile(join(folder, 'package-lock.json'), 'utf8')
  if (!lock.includes(`"integrity": "${integrity}"`)) throw new Error(`The page has another checksum: ${lock}`)

  const program = findBlock(page, 'ts').replace("{ currency: 'KES' }", '')
  await write('list.mts', program)
  const plans = await run(process.execPath, 'list.mts')
  if (!/^.+\n.+\n/.test(plans)) throw new Error(`list.mts has printed no plans: ${plans}`)
  await run(process.execPath, '--eval', "new (require('investment-plans').InvestmentPlansError)('', '')")
  await write('investment-plans.mts', await download('client/investment-plans.mts'))
  await write('list-file.mts', program.replace("'investment-plans'", "'./investment-plans.mts'"))
  if ((await run(process.execPath, 'list-file.mts')) !== plans) throw new Error('The file differs from the package.')

  // As CommonJS and as an ES module, without the DOM library.
  await write('list.ts', program.replace(/^try [^]*/m, 'void client.listPlans()'))
  const types = ['--typeRoots', join(root, 'node_modules/@types'), '--types', 'node', '--lib', 'es2023']
  for (const compiler of compilers) {
    const settings = ['--strict', '--noEmit', '--module', 'nodenext', '--rewriteRelativeImportExtensions', ...types]
    await run(process.execPath, join(root, compiler, 'bin/tsc'), ...settings, 'list.mts', 'list.ts', 'list-file.mts')
  }
}

async function download(file: string): Promise<string> {
  const response = await fetch(`${url}/${file}`)
  if (!response.ok) throw new Error(`${file}: ${response.status}`)
  return response.text()
}

/** Returns the first code of a language on a page. */
function findBlock(page: string, language: string): string {
  const code = new RegExp(`\`\`\`${language}\n([^]*?)\`\`\``).exec(page)?.[1]
  if (code === undefined) throw new Error(`The page has no ${language}.`)
  return code
}

/** Resolves to what the program printed. */
async function run(program: string, ...args: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(program, args, { cwd: folder }).catch((error: unknown) => {
    // tsc reports to stdout.
    throw new Error(`${program} ${args.join(' ')}: ${String(Reflect.get(Object(error), 'stdout'))}`, { cause: error })
  })
  return stdout
}
