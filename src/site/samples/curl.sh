#!/bin/sh
# Needs curl and jq. Set API, CLIENT_ID, CLIENT_SECRET and SHORT_NAME.
set -eu

# Credentials and token come on standard input, so that no process list shows them.
call() {
  curl -sS --config - "$@" |
    jq 'if .error then error("\(.error): \(.message) (\(.requestId))") else . end'
}

token=$(printf 'user = "%s:%s"' "$CLIENT_ID" "$CLIENT_SECRET" |
  call -X POST "$API/api/v3/partners/auth" | jq -er .access_token)
printf 'header = "Authorization: Bearer %s"' "$token" |
  call "$API/api/v3/partners/$SHORT_NAME/plans" | jq -er '.data.plans[] | "\(.identifier)\t\(.coolName)"'
