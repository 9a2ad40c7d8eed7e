// node test/checkers/typescript-client.ts --url http://localhost:8787 : uses the TypeScript client as the page "Clients" says, in a
// CommonJS folder without the DOM library: with the Node that runs this, with TypeScript 5.9 and with the newest. The credentials
// of a partner are in CLIENT_ID, CLIENT_SECRET and SHORT_NAME.
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { exampleOrigin } from '../../src/site/example-origin.ts'

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
  await write('investment-plans.mts', await download('client/investment-plans.mts'))
  await write('list.mts', findBlock(page, 'ts').replace(exampleOrigin, url).replace("{ currency: 'KES' }", ''))
  const plans = await run(process.execPath, 'list.mts')
  if (!/^.+\n.+\n/.test(plans)) throw new Error(`list.mts has printed no plans: ${plans}`)
  await run(process.execPath, '--eval', "new (require('./investment-plans.mts').InvestmentPlansError)('', {})")

  for (const compiler of compilers) {
    const tsc = join(root, compiler, 'bin/tsc')
    await rm(join(folder, 'tsconfig.json'), { force: true })
    await run(process.execPath, tsc, '--init')
    const { compilerOptions } = JSON.parse(findBlock(page, 'json')) as { compilerOptions: object }
    const typeRoots = [join(root, 'node_modules/@types')]
    const partner = { ...compilerOptions, lib: ['ES2023'], typeRoots, outDir: 'compiled' }
    await write('partner.json', JSON.stringify({ extends: './tsconfig.json', compilerOptions: partner }))
    await run(process.execPath, tsc, '--project', 'partner.json')
    if ((await run(process.execPath, 'compiled/list.mjs')) !== plans) throw new Error(`${compiler} changed the client.`)
    await rm(join(folder, 'compiled'), { recursive: true })
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
    throw new Error(String(Reflect.get(Object(error), 'stdout')), { cause: error })
  })
  return stdout
}
