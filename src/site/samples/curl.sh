#!/bin/sh
# Needs curl 7.76 or newer. Set API, CLIENT_ID, CLIENT_SECRET and SHORT_NAME.
# curl reads the credentials and the token from standard input: the process list doesn't show them.
partners=${API%/}/api/v3/partners
call() { curl -sS --fail-with-body --max-time 15 -A investment-plans-sample --config - "$@"; }

answer=$(printf 'user = "%s:%s"' "$CLIENT_ID" "$CLIENT_SECRET" | call -X POST "$partners/auth")
token=$(printf %s "$answer" | sed -n 's/.*"access_token":"\([^"]*\)".*/\1/p')
[ "$token" ] || { printf '%.300s\n' "$answer" >&2 && exit 1; }
printf 'header = "Authorization: Bearer %s"' "$token" | call "$partners/$SHORT_NAME/plans"
