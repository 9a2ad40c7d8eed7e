// A collection and an environment for Postman: https://schema.postman.com/collection/json/v2.1.0/draft-07/docs/
import { writeTests, type Collection, type CollectionRequest, type Option } from './collection-requests.ts'

const dialect = {
  test: 'pm.test',
  expect: 'pm.expect',
  status: 'pm.response.code',
  contentType: "pm.response.headers.get('Content-Type')",
  body: 'pm.response.json()',
}

export function writePostmanCollection({ name, description, tokenPath, requests }: Collection): string {
  const collection = {
    info: {
      name,
      description: `${description}\n\n${setUp}`,
      schema: 'https://schema.getpostman.com/json/collection/v2.1.0/collection.json',
    },
    event: [writeEvent('prerequest', writeTokenScript(tokenPath)), writeEvent('test', forgetScript)],
    item: requests.map(writeItem),
  }
  return `${JSON.stringify(collection, null, 2)}\n`
}

const setUp = `Fill in baseUrl, clientId, clientSecret and shortName in the environment. baseUrl is the address of the site that you
downloaded the collection from, without a path.`

/**
 * Credentials are in an environment, because Postman exports it apart from the collection, and hides a secret in it.
 * @param baseUrl is empty if the build doesn't know the origin: a placeholder would get the partner's credentials.
 */
export function writePostmanEnvironment({ name }: Collection, baseUrl: string): string {
  const environment = {
    name,
    values: [
      { key: 'baseUrl', value: baseUrl, type: 'default', enabled: true },
      { key: 'clientId', value: '', type: 'default', enabled: true },
      { key: 'clientSecret', value: '', type: 'secret', enabled: true },
      { key: 'shortName', value: '', type: 'default', enabled: true },
    ],
    _postman_variable_scope: 'environment',
  }
  return `${JSON.stringify(environment, null, 2)}\n`
}

function writeItem(request: CollectionRequest) {
  const { name, method, path, description, auth, query, headers, expected, etagVariable } = request
  const tests = writeTests(expected, dialect)
  if (etagVariable !== undefined)
    tests.push(`pm.collectionVariables.set(${JSON.stringify(etagVariable)}, pm.response.headers.get('ETag'))`)
  return {
    name,
    event: [writeEvent('test', tests.join('\n'))],
    request: {
      method,
      description,
      auth: auths[auth],
      header: headers.map(writeOption),
      url: {
        raw: `{{baseUrl}}${path}`,
        host: ['{{baseUrl}}'],
        path: path.slice(1).split('/'),
        query: query.map(writeOption),
      },
    },
    response: [],
  }
}

const auths = {
  basic: {
    type: 'basic',
    basic: [
      { key: 'username', value: '{{clientId}}', type: 'string' },
      { key: 'password', value: '{{clientSecret}}', type: 'string' },
    ],
  },
  bearer: { type: 'bearer', bearer: [{ key: 'token', value: '{{accessToken}}', type: 'string' }] },
}

function writeOption({ name, value, description, isSent }: Option) {
  return { key: name, value, description, disabled: !isSent }
}

function writeEvent(listen: 'prerequest' | 'test', script: string) {
  return { listen, script: { type: 'text/javascript', exec: script.split('\n') } }
}

// Postman ignores an exception in the callback of pm.sendRequest, and sends the request: stop() fails a test and skips the request.
function writeTokenScript(tokenPath: string): string {
  return `// Gets an access token if there is none for this client, or if it ends within a minute.
const clientId = pm.variables.get('clientId')
const clientSecret = pm.variables.get('clientSecret')
const baseUrl = pm.variables.get('baseUrl')
const owner = clientId + ' at ' + baseUrl

function isTokenFresh() {
  const secondsLeft = (pm.collectionVariables.get('accessTokenEnds') - Date.now()) / 1000
  return pm.collectionVariables.get('accessTokenOwner') === owner && secondsLeft > 60
}

function stop(message) {
  console.error(message)
  pm.test('Access token', () => pm.expect.fail(message))
  pm.execution.skipRequest()
}

const empty = ['baseUrl', 'clientId', 'clientSecret', 'shortName'].filter((name) => !pm.variables.get(name))

if (empty.length > 0) {
  stop('Select the environment, and fill in: ' + empty.join(', ') + '.')
} else if (pm.request.auth?.type === 'bearer' && !isTokenFresh()) {
  const basic = [{ key: 'username', value: clientId }, { key: 'password', value: clientSecret }]
  pm.sendRequest({ url: baseUrl + ${JSON.stringify(tokenPath)}, method: 'POST', auth: { type: 'basic', basic } }, (error, response) => {
    try {
      if (error) throw new Error(error.message ?? error.code)
      const body = response.json()
      if (response.code !== 200) throw new Error(response.code + ' ' + body.message)
      pm.collectionVariables.set('accessToken', body.access_token)
      pm.collectionVariables.set('accessTokenEnds', Date.now() + body.expires_in * 1000)
      pm.collectionVariables.set('accessTokenOwner', owner)
    } catch (failure) {
      stop('No access token: ' + failure.message)
    }
  })
}`
}

const forgetScript = `// The next request gets a new token.
if (pm.response.code === 401) pm.collectionVariables.unset('accessTokenOwner')`
