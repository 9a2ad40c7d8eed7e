// A collection for Bruno: a folder of .bru files, https://docs.usebruno.com/bru-lang/overview
import { writeTests, type Collection, type CollectionRequest, type Option } from './collection-requests.ts'

const dialect = {
  test: 'test',
  expect: 'expect',
  status: 'res.getStatus()',
  contentType: "res.getHeader('content-type')",
  body: 'res.getBody()',
}

/** Returns the text of each file, by its path in the folder. */
export function writeBrunoCollection(collection: Collection): Record<string, string> {
  const { name, description, tokenPath, requests } = collection
  const config = { version: '1', name, type: 'collection', ignore: ['node_modules', '.git'] }
  return {
    'bruno.json': `${JSON.stringify(config, null, 2)}\n`,
    'collection.bru': joinBlocks([
      block('vars:pre-request', ['shortName: {{process.env.SHORT_NAME}}']),
      block('script:pre-request', [writeTokenScript(tokenPath)]),
      block('script:post-response', [forgetScript]),
      block('docs', [description, '', setUp]),
    ]),
    '.gitignore': '.env\n',
    ...Object.fromEntries(requests.map((request, index) => [`${request.id}.bru`, writeRequest(request, index + 1)])),
  }
}

const setUp = `Fill in API, CLIENT_ID, CLIENT_SECRET and SHORT_NAME in a file named .env in the folder of the collection. API is the
address of the site that you downloaded the collection from, without a path.`

function writeRequest(request: CollectionRequest, seq: number): string {
  const { name, method, path, description, auth, query, headers, expected, etagVariable } = request
  const options = [...query, ...headers]
  const meanings = options.map((option) => `- \`${option.name}\`: ${option.description}`)
  return joinBlocks([
    block('meta', [`name: ${name}`, 'type: http', `seq: ${seq}`]),
    block(method.toLowerCase(), [`url: {{process.env.API}}${path}`, 'body: none', `auth: ${auth}`]),
    block('params:query', query.map(writeOption)),
    block('headers', headers.map(writeOption)),
    block(`auth:${auth}`, auths[auth]),
    block(
      'script:post-response',
      etagVariable ? [`bru.setVar(${JSON.stringify(etagVariable)}, res.getHeader('etag'))`] : [],
    ),
    block('tests', writeTests(expected, dialect)),
    block('docs', [description, '', ...meanings]),
  ])
}

const auths = {
  basic: ['username: {{process.env.CLIENT_ID}}', 'password: {{process.env.CLIENT_SECRET}}'],
  bearer: ['token: {{accessToken}}'],
}

function writeOption({ name, value, isSent }: Option): string {
  return `${isSent ? '' : '~'}${name}: ${value}`
}

/** The indentation keeps a line `}` of the text from ending the block. */
function block(name: string, texts: readonly string[]): string {
  const lines = texts.flatMap((text) => text.split('\n')).map((line) => `  ${line}`.trimEnd())
  return lines.length === 0 ? '' : `${name} {\n${lines.join('\n')}\n}\n`
}

function joinBlocks(blocks: readonly string[]): string {
  return blocks.filter((text) => text !== '').join('\n')
}

// Runtime variables are in memory: Bruno writes them to no file.
function writeTokenScript(tokenPath: string): string {
  return `// Gets an access token if there is none for this client, or if it ends within a minute.
const names = ['API', 'CLIENT_ID', 'CLIENT_SECRET', 'SHORT_NAME']
const [origin, clientId, clientSecret] = names.map((name) => bru.getProcessEnv(name))
const empty = names.filter((name) => !bru.getProcessEnv(name))
if (empty.length > 0) throw new Error('Fill in .env beside the collection: ' + empty.join(', ') + '.')

const owner = clientId + ' at ' + origin

function isTokenFresh() {
  const secondsLeft = (bru.getVar('accessTokenEnds') - Date.now()) / 1000
  return bru.getVar('accessTokenOwner') === owner && secondsLeft > 60
}

if (req.getAuthMode() === 'bearer' && !isTokenFresh()) {
  const { status, data } = await bru.sendRequest({
    url: origin + ${JSON.stringify(tokenPath)},
    method: 'POST',
    auth: { username: clientId, password: clientSecret },
    // By default, an error status is an exception without the body.
    validateStatus: null,
  })
  if (status !== 200) throw new Error('No access token: ' + status + ' ' + data.message)
  bru.setVar('accessToken', data.access_token)
  bru.setVar('accessTokenEnds', Date.now() + data.expires_in * 1000)
  bru.setVar('accessTokenOwner', owner)
}`
}

const forgetScript = `// The next request gets a new token.
if (res.getStatus() === 401) bru.deleteVar('accessTokenOwner')`
