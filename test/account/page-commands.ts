// Runs the commands of a page in their order, as a person would type them in one shell.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { stripVTControlCharacters } from 'node:util'

export interface Section {
  title: string
  commands: string[]
}

/** Splits a page at its headings of level 2. The commands of a section are in its indented blocks. */
export function readSections(page: string): Section[] {
  return page.split(/^## /m).map((part) => ({
    title: part.split('\n')[0] ?? '',
    commands: readCommands(part),
  }))
}

function readCommands(text: string): string[] {
  const commands: string[] = []
  let open: string[] = []
  for (const [, line = ''] of text.matchAll(/^ {4,}(\S.*)$/gm)) {
    open.push(line)
    if (line.endsWith('\\') || !isComplete(open.join('\n'))) continue
    commands.push(open.join('\n'))
    open = []
  }
  if (open.length > 0) throw new Error(`no shell reads this command: ${open.join('\n')}`)
  return commands
}

/** Whether the shell can read the text: all quotes and braces are closed. */
function isComplete(text: string): boolean {
  return spawnSync('bash', ['-n', '-c', text]).status === 0
}

export interface CommandResult {
  code: number | null
  stdout: string
  /** stdout and stderr together. */
  output: string
}

/**
 * Returns a function that runs one command after the other. Later commands see variables and functions of earlier ones.
 * @param state a new file that keeps them.
 */
export function startShell(folder: string, env: Record<string, string>, state: string) {
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`)
  const keep = `trap '{ export -p; declare -f; } >${state}' EXIT; [ ! -e ${state} ] || . ${state}; set -eu`
  return async (command: string, stdin = ''): Promise<CommandResult> => {
    const child = spawn('env', ['-i', ...variables, 'bash', '-c', `${keep}\n${command}`], { cwd: folder })
    let [stdout, output] = ['', '']
    child.stdout.on('data', (chunk) => (stdout += String(chunk)))
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += String(chunk)))
    child.stdin.on('error', () => {}).end(stdin)
    const [code]: (number | null)[] = await once(child, 'close')
    return { code: code ?? null, stdout: stripVTControlCharacters(stdout), output: stripVTControlCharacters(output) }
  }
}
