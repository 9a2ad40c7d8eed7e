// The code of ops completion: a script that completes nouns, verbs and flags in a shell.
import { toFlag, type Handler } from './declaration.ts'
import { listEntries, type Program } from './program.ts'
import type { serviceDeclarations } from './service-declarations.ts'
import { listFlags } from './shared-flags.ts'

type Completion = (typeof serviceDeclarations)['completion']

export function createCompletion(program: Program): Handler<Completion> {
  return async ({ shell }, { io }) => void io.stdout.write(formatCompletion(shell, listWords(program), process.cwd()))
}

/** The words that may follow a command: its verbs and flags. */
interface CommandWords {
  /** Such as `partner create`; empty for the program. */
  path: string
  words: string[]
}

function listWords(program: Program): CommandWords[] {
  const entries = listEntries(program)
  const nouns = Object.keys(program.nouns).filter(Boolean)
  const verbsOf = (noun: string) =>
    entries.flatMap(({ words }) => (words.startsWith(`${noun} `) ? words.slice(noun.length + 1) : []))
  const alone = entries.flatMap(({ words }) => (words.includes(' ') ? [] : words))
  return [
    { path: '', words: [...nouns, ...alone, '--help'] },
    ...nouns.map((noun) => ({ path: noun, words: [...verbsOf(noun), '--help'] })),
    ...entries.map(({ words, declaration }) => ({
      path: words,
      words: [...Object.keys(listFlags(declaration)).map(toFlag), '--help'],
    })),
  ]
}

/** @param folder the project: the command works in any folder, and files are relative to that. */
function formatCompletion(shell: string, commands: readonly CommandWords[], folder: string): string {
  const run = `npm --prefix '${folder.replaceAll("'", String.raw`'\''`)}' run -s ops --`
  if (shell === 'fish') return formatFish(commands, run)
  const cases = commands.map(({ path, words }) => `    '${path}') echo '${words.join(' ')}' ;;`)
  const lookup = ['_ops_words() {', '  case "$1" in', ...cases, '  esac', '}']
  return [`ops() { ${run} "$@"; }`, ...lookup, shell === 'bash' ? bash : zsh].join('\n')
}

/** Completes the words of the longest command that was typed so far, and files where no word fits. */
const bash = `_ops() {
  local path="" next="\${COMP_WORDS[1]}"
  if [ "$COMP_CWORD" -gt 1 ]; then path="$next"; fi
  if [ "$COMP_CWORD" -gt 2 ]; then
    next="$path \${COMP_WORDS[2]}"
    if [ -n "$(_ops_words "$next")" ]; then path="$next"; fi
  fi
  COMPREPLY=($(compgen -W "$(_ops_words "$path")" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _ops ops
`

const zsh = `_ops() {
  local command="" next="\${words[2]}"
  if (( CURRENT > 2 )); then command="$next"; fi
  if (( CURRENT > 3 )); then
    next="$command \${words[3]}"
    if [[ -n "$(_ops_words "$next")" ]]; then command="$next"; fi
  fi
  compadd -- \${=$(_ops_words "$command")}
  _files
}
compdef _ops ops
`

function formatFish(commands: readonly CommandWords[], run: string): string {
  const lines = commands.map(({ path, words }) => {
    const typed = path.split(' ').map((word) => `__fish_seen_subcommand_from ${word}`)
    const condition = path === '' ? '__fish_use_subcommand' : typed.join('; and ')
    return `complete -c ops -n '${condition}' -a '${words.join(' ')}'`
  })
  return [`function ops; ${run} $argv; end`, ...lines, ''].join('\n')
}
