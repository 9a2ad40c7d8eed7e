// node test/checkers/oauth-clients.mjs --url http://localhost:8787 : lists plans with tokens that OAuth libraries got, which form-encode
// the credentials (RFC 6749 section 2.3.1), and curl with `base64`. The credentials of a partner are in CLIENT_ID, CLIENT_SECRET
// and SHORT_NAME.
import { execFileSync } from 'node:child_process'
import { parseArgs } from 'node:util'
import { OAuth2Client } from '@badgateway/oauth2-client'
import * as oauth4webapi from 'oauth4webapi'
import * as openidClient from 'openid-client'

const { url } = parseArgs({ options: { url: { type: 'string' } } }).values
const { CLIENT_ID: clientId, CLIENT_SECRET: clientSecret, SHORT_NAME: shortName } = process.env
const tokenEndpoint = `${url}/api/v3/partners/auth`
const server = { issuer: url, token_endpoint: tokenEndpoint }

const clients = {
  'openid-client': async () => {
    const authentication = openidClient.ClientSecretBasic(clientSecret)
    const configuration = new openidClient.Configuration(server, clientId, undefined, authentication)
    openidClient.allowInsecureRequests(configuration)
    return (await openidClient.clientCredentialsGrant(configuration)).access_token
  },
  oauth4webapi: async () => {
    const client = { client_id: clientId }
    const authentication = oauth4webapi.ClientSecretBasic(clientSecret)
    const options = { [oauth4webapi.allowInsecureRequests]: true }
    const response = await oauth4webapi.clientCredentialsGrantRequest(server, client, authentication, {}, options)
    return (await oauth4webapi.processClientCredentialsResponse(server, client, response)).access_token
  },
  '@badgateway/oauth2-client': async () => {
    const authenticationMethod = 'client_secret_basic'
    const client = new OAuth2Client({ tokenEndpoint, clientId, clientSecret, authenticationMethod })
    return (await client.clientCredentials()).accessToken
  },
  'curl with base64': () => {
    const credentials = '$(printf %s "$CLIENT_ID:$CLIENT_SECRET" | base64)'
    const command = `curl -sS --fail-with-body -X POST -H "Authorization: Basic ${credentials}" "$0"`
    return JSON.parse(execFileSync('sh', ['-c', command, tokenEndpoint], { encoding: 'utf8' })).access_token
  },
}

for (const [name, getToken] of Object.entries(clients)) {
  try {
    const headers = { Authorization: `Bearer ${await getToken()}` }
    const { status } = await fetch(`${url}/api/v3/partners/${shortName}/plans`, { headers })
    if (status !== 200) throw new Error(`The list: ${status}.`)
  } catch (cause) {
    throw new Error(name, { cause })
  }
}
