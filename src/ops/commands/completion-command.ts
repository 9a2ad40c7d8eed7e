// completion: prints a script that completes nouns, verbs and flags in a shell.
import { Argument, type Command } from 'commander'
import type { CommandContext } from './command-context.ts'

const shells = ['bash', 'zsh', 'fish'] as const
type Shell = (typeof shells)[number]

/** Adds the command to a program that has all others. */
export function addCompletionCommand(program: Command, { io }: Pick<CommandContext, 'io'>): void {
  program
    .command('completion')
    .description('print a script that defines the command ops in your shell, and completes its words')
    .addArgument(new Argument('<shell>', 'your shell').choices(shells))
    .addHelpText('after', '\nExample:\n  source <(npm run -s ops -- completion bash)\n')
    .action((shell: Shell) => void io.stdout.write(formatCompletion(shell, listWords(program), process.cwd())))
}

/** The words that may follow a command: its verbs and flags. */
interface CommandWords {
  /** Such as `partner create`; empty for the program. */
  path: string
  words: string[]
}

function listWords(command: Command, path: readonly string[] = []): CommandWords[] {
  const verbs = command.commands.map((child) => child.name())
  const flags = command.options.flatMap(({ long }) => (typeof long === 'string' ? [long] : []))
  return [
    { path: path.join(' '), words: [...verbs, ...flags, '--help'] },
    ...command.commands.flatMap((child) => listWords(child, [...path, child.name()])),
  ]
}

/** @param folder the project: the command works in any folder, and files are relative to that. */
function formatCompletion(shell: Shell, commands: readonly CommandWords[], folder: string): string {
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
