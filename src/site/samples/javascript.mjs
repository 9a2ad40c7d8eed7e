// Needs Node 18 or newer. Set API, CLIENT_ID, CLIENT_SECRET and SHORT_NAME.
const { API, CLIENT_ID, CLIENT_SECRET, SHORT_NAME } = process.env

async function call(path, authorization, method = 'GET') {
  const response = await fetch(`${API}/api/v3/partners/${path}`, {
    method,
    headers: { Authorization: authorization },
    signal: AbortSignal.timeout(15_000),
  })
  const body = await response.json()
  if (!response.ok) {
    console.error(`${response.status} ${body.error}: ${body.message} (${body.requestId})`)
    process.exit(1)
  }
  return body
}

const credentials = Buffer.from(`${CLIENT_ID}:${CLIENT_SECRET}`).toString('base64')
const { access_token } = await call('auth', `Basic ${credentials}`, 'POST')
const { data } = await call(`${SHORT_NAME}/plans`, `Bearer ${access_token}`)
for (const plan of data.plans) console.log(`${plan.identifier}\t${plan.coolName}`)
