#!/bin/sh
# Needs curl and jq. Set API, CLIENT_ID, CLIENT_SECRET and SHORT_NAME.
set -eu

# call PATH METHOD JQ_FILTER: sends a request and prints the filtered response.
# curl reads the credentials or the token from standard input, so that they
# don't appear in the process list.
call() {
  curl -sS --max-time 15 --config - -X "$2" "$API/api/v3/partners/$1" |
    jq -nr '[inputs][0] | if . == null then error("no response")
      elif .error then error("\(.error): \(.message) (\(.requestId))") else '"$3"' end'
}

token=$(printf 'user = "%s:%s"' "$CLIENT_ID" "$CLIENT_SECRET" | call auth POST .access_token)
printf 'header = "Authorization: Bearer %s"' "$token" |
  call "$SHORT_NAME/plans" GET '.data.plans[] | "\(.identifier)\t\(.coolName)"'
