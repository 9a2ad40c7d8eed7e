#!/bin/sh
# Needs curl and jq. Set API, CLIENT_ID, CLIENT_SECRET and SHORT_NAME.
set -eu

# call PATH METHOD JQ_FILTER: sends a request and prints the filtered response.
# curl reads the credentials or the token from standard input, so that they
# don't appear in the process list. It prints the status after the response.
call() {
  curl -sS --max-time 15 -A investment-plans-sample --config - -X "$2" -w '\n%{http_code}' "$API/api/v3/partners/$1" |
    jq -Rsr '.[:-4] as $text | .[-3:] as $status | [$text | fromjson? | objects][0]
      | if $status == "200" and . then '"$3"' else error("\($status): \($text[:300])") end'
}

token=$(printf 'user = "%s:%s"' "$CLIENT_ID" "$CLIENT_SECRET" | call auth POST .access_token)
printf 'header = "Authorization: Bearer %s"' "$token" |
  call "$SHORT_NAME/plans" GET '.data.plans[] | "\(.identifier)\t\(.coolName)"'
