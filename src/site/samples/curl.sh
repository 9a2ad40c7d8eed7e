#!/bin/sh
# Needs curl and jq. Set API, CLIENT_ID, CLIENT_SECRET and SHORT_NAME.
set -eu

# Path, method, and what to show of the answer. Credentials and token come on
# standard input, so that no process list shows them.
call() {
  curl -sS --max-time 15 --config - -X "$2" "$API/api/v3/partners/$1" |
    jq -nr '[inputs][0] | if . == null then error("no answer")
      elif .error then error("\(.error): \(.message) (\(.requestId))") else '"$3"' end'
}

token=$(printf 'user = "%s:%s"' "$CLIENT_ID" "$CLIENT_SECRET" | call auth POST .access_token)
printf 'header = "Authorization: Bearer %s"' "$token" |
  call "$SHORT_NAME/plans" GET '.data.plans[] | "\(.identifier)\t\(.coolName)"'
