// A shell command that stores a token in $TOKEN, as Markdown. curl reads the credentials from standard input, so the process list doesn't show them.
import { formatCode } from '../markdown.ts'

const command = String.raw`TOKEN=$(printf 'user = "%s:%s"' "$CLIENT_ID" "$CLIENT_SECRET" |
  curl -sS -X POST --config - "$API/api/v3/partners/auth" | sed 's/.*"access_token":"\([^"]*\).*/\1/')`
export const tokenCommand = formatCode(command, 'sh')
