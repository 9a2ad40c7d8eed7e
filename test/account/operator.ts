// Stands for a person who follows the deployment pages, command by command, with an empty account.
import { cp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect } from 'vitest'
import { clientSecretPattern } from '../../src/crypto/client-secret.ts'
import { accountId, apiToken, startAccount, type Account } from './account.ts'
import { readSections, startShell, type CommandResult, type Section } from './page-commands.ts'
import { copyProject, setBindingId, type ProjectCopy } from './project-copy.ts'
import { startStores, type Stores } from './stores.ts'

export interface Operator {
  account: Account
  stores: Stores
  sections: Section[]
  /** Runs a command without changing it. */
  type: (command: string, stdin?: string) => Promise<CommandResult>
  /** Runs a command of the page with the reader's values. It must succeed, except for its smoke test. Notes the IDs that it prints. */
  follow: (command: string) => Promise<string>
  /** Writes the IDs of the database and the namespace that were created last into wrangler.toml. */
  saveIds: (env: string) => Promise<void>
  /** Opens a new shell, which lacks the variables of the earlier one. */
  openShell: () => void
  editFile: (name: string, edit: (text: string) => string) => Promise<void>
}

export const workerName = (env: string) => `partner-investment-plan-catalog-${env}`

/** Returns the exit code that a command must have, and what it must print: a smoke test fails, because no deployed Worker runs. */
function findOutcome(command: string): [number, RegExp] {
  if (/npm run (-s )?deploy /.test(command)) return [2, /^The smoke test failed, and version [\w-]+ is live\.$/m]
  if (/ops -- watch --url/.test(command)) return [3, /^problem {2}smoke: /m]
  return [0, /^/]
}

const pages = ['src/worker/DEPLOY.md', 'src/worker/ONCALL.md']

/** Starts the account before the first test of a file. */
export function useOperator(): () => Operator {
  let operator: Operator | undefined
  const cleanups: (() => Promise<void>)[] = []
  beforeAll(async () => {
    const stores = await startStores()
    cleanups.push(stores.close)
    const account = await startAccount(stores)
    cleanups.push(account.close)
    const copy = await copyProject()
    cleanups.push(copy.remove)
    operator = await createOperator(stores, account, copy)
  })
  afterAll(async () => {
    for (const cleanUp of cleanups.toReversed()) await cleanUp()
  })
  return () => {
    if (operator === undefined) throw new Error('the account has not started yet')
    return operator
  }
}

async function createOperator(stores: Stores, account: Account, { folder, home }: ProjectCopy): Promise<Operator> {
  const notes = {
    clientId: '',
    clientSecret: '',
    previous: '',
    current: '',
    databaseId: '',
    namespaceId: '',
    kid: '',
  }

  /** What the reader replaces in the commands of the pages, and the imitation's address in the place of Cloudflare's. */
  const substitutions: [RegExp, () => string][] = [
    [/(?<=CLOUDFLARE_API_TOKEN=)…/, () => apiToken],
    [/(?<=CLOUDFLARE_ACCOUNT_ID=)…/, () => accountId],
    [/(?<=CLIENT_ID=)…/, () => notes.clientId],
    [/\bKID\b/, () => notes.kid],
    [/\bDATABASE_ID\b/, () => notes.databaseId],
    [/\bVERSION_ID\b/, () => notes.previous],
    [/(?<=\s)\/tmp(?=\/)/g, () => home],
    [/https:\/\/api\.cloudflare\.com\/client\/v4/, () => account.url],
    [/(?<=npm run (-s )?deploy -- |ops -- watch )(?!--query)/, () => `--url ${new URL(account.url).origin} `],
    // Without a terminal, nobody answers the question about the demo plan that no country lists.
    [/(?<=catalog import \S+)(?= )/, () => ' --yes'],
  ]

  const note = (command: string, stdout: string) => {
    const find = (pattern: RegExp) => pattern.exec(stdout)?.[1] ?? ''
    if (command.includes('partner create')) {
      notes.clientId = find(/\b(\w{16})\b/)
      notes.clientSecret = find(new RegExp(`(${clientSecretPattern})`))
    }
    if (command.includes('deployments list')) {
      const ids = [...stdout.matchAll(/[\da-f]{8}-[\da-f-]{27}/g)].map(([id]) => id)
      notes.current = ids.at(-1) ?? ''
      notes.previous = ids.findLast((id) => id !== notes.current) ?? ''
    }
    if (command.includes('keys list')) notes.kid = find(/^(\w+) +signs /m)
    if (command.includes('d1 create')) notes.databaseId = find(/database_id = "([\w-]+)"/)
    if (command.includes('namespace create')) notes.namespaceId = find(/^id = "([\w-]+)"/m)
  }

  let shells = 0
  const openShell = () => {
    const variables = {
      PATH: process.env['PATH'] ?? '',
      HOME: home,
      CLOUDFLARE_API_BASE_URL: account.url,
      // Nothing may leave this machine.
      CLOUDFLARE_CF_FETCH_ENABLED: 'false',
      WRANGLER_SEND_METRICS: 'false',
      WRANGLER_HIDE_BANNER: 'true',
    }
    operator.type = startShell(folder, variables, join(home, `shell-${++shells}`))
  }

  const operator: Operator = {
    account,
    stores,
    sections: [],
    type: () => Promise.reject(new Error('no shell is open')),
    follow: async (command) => {
      let text = command
      for (const [placeholder, find] of substitutions) text = text.replace(placeholder, find)
      expect(text).not.toContain('…')
      const stdin = text.startsWith('read ') ? `${notes.clientSecret}\n` : ''
      const { code, stdout, output } = await operator.type(text, stdin)
      const [expectedCode, problem] = findOutcome(text)
      const shown = code === expectedCode ? '' : output
      expect({ text, code, shown }).toEqual({ text, code: expectedCode, shown: '' })
      expect(output).toMatch(problem)
      note(text, stdout)
      return output
    },
    saveIds: (env) =>
      operator.editFile('wrangler.toml', (text) =>
        setBindingId(setBindingId(text, env, 'DB', notes.databaseId), env, 'CATALOG_CACHE', notes.namespaceId),
      ),
    openShell,
    editFile: async (name, edit) => {
      const file = join(folder, name)
      await writeFile(file, edit(await readFile(file, 'utf8').catch(() => '')))
    },
  }
  // A dataset exists after the first request of the service.
  for (const env of ['staging', 'production']) {
    account.analytics.write(`partner_investment_plan_catalog_${env}`, { indexes: [], blobs: [], doubles: [] })
  }
  await cp(join(folder, 'src/catalog/demo.json'), join(folder, 'your-catalog.json'))
  // A deploy first runs the project's checks. CI runs them anyway.
  await operator.editFile('package.json', (text) => text.replace(/(?<="check": )".*"/, '"true"'))
  openShell()
  const ignored = String.raw`printf '/node_modules\n/your-catalog.json\n' > .git/info/exclude`
  await operator.follow(`git init --quiet && ${ignored} && git add --all && git commit --quiet --message Copy`)
  for (const page of pages) operator.sections.push(...readSections(await readFile(join(folder, page), 'utf8')))
  return operator
}
