// Needs Node 18 or newer. Set API, CLIENT_ID, CLIENT_SECRET and SHORT_NAME.
const { API, CLIENT_ID, CLIENT_SECRET, SHORT_NAME } = process.env

async function call(path, authorization, method = 'GET') {
  const response = await fetch(`${API}/api/v3/partners/${path}`, {
    method,
    headers: { Authorization: authorization },
    signal: AbortSignal.timeout(15_000),
  })
  const text = await response.text()
  const body = parse(text)
  if (!body) fail(`${response.status}, and no JSON: ${text.slice(0, 100)}`)
  if (!response.ok) fail(`${response.status} ${body.error}: ${body.message} (${body.requestId})`)
  return body
}

function parse(text) {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function fail(problem) {
  console.error(problem)
  process.exit(1)
}

const credentials = Buffer.from(`${CLIENT_ID}:${CLIENT_SECRET}`).toString('base64')
const { access_token } = await call('auth', `Basic ${credentials}`, 'POST')
const { data } = await call(`${SHORT_NAME}/plans`, `Bearer ${access_token}`)
for (const plan of data.plans) console.log(`${plan.identifier}\t${plan.coolName}`)
