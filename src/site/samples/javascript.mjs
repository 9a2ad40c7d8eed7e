// Needs Node 18 or newer. Set API, CLIENT_ID, CLIENT_SECRET and SHORT_NAME.
const { API, CLIENT_ID, CLIENT_SECRET, SHORT_NAME } = process.env

function fail(reason) {
  console.error(reason)
  process.exit(1)
}

async function call(path, Authorization, method = 'GET') {
  const headers = { Authorization, 'User-Agent': 'investment-plans-sample' }
  const url = `${API.replace(/\/$/, '')}/api/v3/partners/${path}`
  const response = await fetch(url, { method, headers, signal: AbortSignal.timeout(15_000) }).catch(
    ({ message, cause }) => fail(`No response: ${cause?.code ?? cause ?? message}`),
  )
  if (response.ok) return response.json()
  fail(`${response.status}: ${(await response.text()).slice(0, 300)}`)
}

const credentials = Buffer.from(`${CLIENT_ID}:${CLIENT_SECRET}`).toString('base64')
const { access_token } = await call('auth', `Basic ${credentials}`, 'POST')
const { data } = await call(`${SHORT_NAME}/plans`, `Bearer ${access_token}`)
for (const plan of data.plans) console.log(`${plan.identifier}\t${plan.coolName}`)
