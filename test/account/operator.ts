// A person who follows the deployment pages, command by command, with an account that was empty before.
import { cp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect } from 'vitest'
import { clientSecretPattern } from '../../src/crypto/client-secret.ts'
import { accountId, apiToken, startAccount, type Account } from './account.ts'
import { createAnalytics } from './analytics.ts'
import { subdomain } from './dashboard.ts'
import { isRefusedAgent } from './front.ts'
import { readSections, startShell, type CommandResult, type Section } from './page-commands.ts'
import { copyProject, setBindingId, type ProjectCopy } from './project-copy.ts'
import { startRuntime, type Runtime } from './runtime.ts'

export interface Operator {
  account: Account
  runtime: Runtime
  sections: Section[]
  /** Runs a command as it is. */
  type: (command: string, stdin?: string) => Promise<CommandResult>
  /** Runs a command of the page, which must succeed, and notes what it prints. */
  follow: (command: string) => Promise<string>
  /** The moment that `--timestamp` names. */
  noteTime: () => void
  /** Writes the IDs of the database and the namespace that were created last into wrangler.toml. */
  saveIds: (env: string) => Promise<void>
  openShell: () => void
  editFile: (name: string, edit: (text: string) => string) => Promise<void>
  /** Gets a token from what was deployed last, as the partner of the page does. */
  requestToken: (env: string, headers?: Record<string, string>) => Promise<{ token: string; lifetime: number }>
  /** Gets a token and the list of plans. */
  callService: (env: string) => Promise<object>
}

export const domain = 'catalog.example.com'

/** @param typed what the user types there. */
export const inTerminal = (command: string, typed = '') =>
  `printf '${typed}' | script --quiet --return --command '${command}' /dev/null`

export const workerName = (env: string) => `partner-investment-plan-catalog-${env}`

/** Starts the account before the first test of a file. */
export function useOperator(pages: readonly string[]): () => Operator {
  let operator: Operator | undefined
  const cleanups: (() => Promise<void>)[] = []
  beforeAll(async () => {
    const analytics = createAnalytics()
    const runtime = await startRuntime(analytics)
    cleanups.push(runtime.close)
    const account = await startAccount(runtime, runtime, analytics)
    cleanups.push(account.close)
    const copy = await copyProject()
    cleanups.push(copy.remove)
    operator = await createOperator(runtime, account, copy, pages)
  })
  afterAll(async () => {
    for (const cleanUp of cleanups.toReversed()) await cleanUp()
  })
  return () => {
    if (operator === undefined) throw new Error('the account has not started yet')
    return operator
  }
}

async function createOperator(
  runtime: Runtime,
  account: Account,
  { folder, home }: ProjectCopy,
  pages: readonly string[],
): Promise<Operator> {
  const notes = {
    clientId: '',
    clientSecret: '',
    previous: '',
    current: '',
    uploaded: '',
    databaseId: '',
    namespaceId: '',
    bookmark: '',
    kid: '',
    time: '',
  }

  /** What the pages leave to the reader; and loopback in the place of Cloudflare. */
  const substitutions: [RegExp, () => string][] = [
    [/(?<=CLOUDFLARE_API_TOKEN=)…/, () => apiToken],
    [/(?<=CLOUDFLARE_ACCOUNT_ID=)…/, () => accountId],
    [/(?<=CLIENT_ID=)…/, () => notes.clientId],
    [/\bKID\b/, () => notes.kid],
    [/\bDATABASE_ID\b/, () => notes.databaseId],
    // Nothing spreads here.
    [/(?<=keys rotate )/, () => '--wait 0 '],
    [/\bVERSION_ID\b/, () => notes.previous],
    [/\bOLD_VERSION\b/, () => notes.current],
    [/\bNEW_VERSION\b/, () => notes.uploaded],
    [/(?<=--bookmark=)…/, () => notes.bookmark],
    [/(?<=--timestamp=)\S+/, () => notes.time],
    [/\bSUBDOMAIN\b/, () => subdomain],
    [/(?<=\s)\/tmp(?=\/)/g, () => home],
    [/https:\/\/api\.cloudflare\.com\/client\/v4/, () => account.url],
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
    if (command.includes('versions upload')) notes.uploaded = find(/Version ID: ([\w-]+)/)
    if (command.includes('d1 create')) notes.databaseId = find(/database_id = "([\w-]+)"/)
    if (command.includes('namespace create')) notes.namespaceId = find(/^id = "([\w-]+)"/m)
    if (command.includes('time-travel info')) notes.bookmark = find(/--bookmark=([\w-]+)/)
  }

  const targets: Record<string, string> = {}
  for (const env of ['staging', 'production']) {
    targets[`${workerName(env)}.${subdomain}.workers.dev`] = await runtime.getUrl(workerName(env))
  }
  targets[domain] = await runtime.getUrl(workerName('staging'), {
    host: domain,
    isRefused: (agent) => isRefusedAgent(agent) && !account.dashboard.uncheckedHosts.has(domain),
  })
  let shells = 0
  const openShell = () => {
    const variables = {
      PATH: process.env['PATH'] ?? '',
      HOME: home,
      CLOUDFLARE_API_BASE_URL: account.url,
      NODE_OPTIONS: `--import=${join(home, 'loopback-fetch.mjs')}`,
      LOOPBACK_TARGETS: JSON.stringify(targets),
      // Nothing may leave this machine.
      CLOUDFLARE_CF_FETCH_ENABLED: 'false',
      WRANGLER_SEND_METRICS: 'false',
      WRANGLER_HIDE_BANNER: 'true',
    }
    operator.type = startShell(folder, variables, join(home, `shell-${++shells}`))
  }

  const getApi = async (env: string) => `${await runtime.getUrl(workerName(env))}/api/v3/partners`

  const operator: Operator = {
    account,
    runtime,
    sections: [],
    type: () => Promise.reject(new Error('no shell is open')),
    follow: async (command) => {
      let text = command
      for (const [placeholder, find] of substitutions) text = text.replace(placeholder, find)
      expect(text).not.toContain('…')
      const stdin = text.startsWith('read ') ? `${notes.clientSecret}\n` : ''
      const { code, stdout, output } = await operator.type(text, stdin)
      expect([text, code, code === 0 ? '' : output]).toEqual([text, 0, ''])
      note(text, stdout)
      return output
    },
    saveIds: (env) =>
      operator.editFile('wrangler.toml', (text) =>
        setBindingId(setBindingId(text, env, 'DB', notes.databaseId), env, 'CATALOG_CACHE', notes.namespaceId),
      ),
    noteTime: () => {
      notes.time = new Date().toISOString()
    },
    openShell,
    editFile: async (name, edit) => {
      const file = join(folder, name)
      await writeFile(file, edit(await readFile(file, 'utf8').catch(() => '')))
    },
    requestToken: async (env, headers = {}) => {
      const authorization = `Basic ${Buffer.from(`${notes.clientId}:${notes.clientSecret}`).toString('base64')}`
      const init = { method: 'POST', headers: { ...headers, Authorization: authorization } }
      runtime.finishSpread()
      const answer = await (await fetch(`${await getApi(env)}/auth`, init)).json()
      const { access_token: token, expires_in: lifetime } = answer as { access_token: string; expires_in: number }
      return { token, lifetime }
    },
    callService: async (env) => {
      const { token, lifetime } = await operator.requestToken(env)
      const headers = { Authorization: `Bearer ${token}` }
      const list = await fetch(`${await getApi(env)}/smoke/plans`, { headers })
      const { data } = (await list.json()) as { data?: { total: number } }
      return { status: list.status, lifetime, plans: data?.total }
    },
  }
  await cp(join(folder, 'src/catalog/demo.json'), join(folder, 'your-catalog.json'))
  // A deploy runs the project's checks first. CI runs them anyway, and they would run this test again.
  await operator.editFile('package.json', (text) => text.replace(/(?<="check": )".*"/, '"true"'))
  openShell()
  const ignored = String.raw`printf '/node_modules\n/your-catalog.json\n' > .git/info/exclude`
  await operator.follow(`git init --quiet && ${ignored} && git add --all && git commit --quiet --message Copy`)
  for (const page of pages) operator.sections.push(...readSections(await readFile(join(folder, page), 'utf8')))
  return operator
}
