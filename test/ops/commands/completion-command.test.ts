import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { refused, runCommand } from '../support/run-ops.ts'

const readScript = async (shell: string) => (await runCommand(['completion', shell])).stdout

/** Lets bash complete the last of these words. */
async function complete(...words: string[]): Promise<string[]> {
  const quoted = ['ops', ...words].map((word) => `'${word}'`).join(' ')
  const script = `${await readScript('bash')}
COMP_WORDS=(${quoted}); COMP_CWORD=${words.length}; _ops; printf '%s\n' "\${COMPREPLY[@]}"`
  const { stdout } = await promisify(execFile)('bash', ['-c', script])
  return stdout.trim().split('\n')
}

describe('the script for bash completes', () => {
  test('nouns', async () => {
    expect(await complete('')).toEqual(expect.arrayContaining(['partner', 'catalog', 'plan', 'keys', '--help']))
    expect(await complete('par')).toEqual(['partner'])
  })

  test('verbs', async () => {
    expect(await complete('partner', 're')).toEqual(['resume', 'rename'])
  })

  test('flags, also after an argument', async () => {
    expect(await complete('partner', 'rotate', '--re')).toEqual(['--replace-newest', '--remote'])
    expect(await complete('partner', 'rotate', 'acme', '--gr')).toEqual(['--grace'])
  })

  test('nothing else, so that bash completes files', async () => {
    expect(await complete('catalog', 'import', 'plans')).toEqual([''])
  })
})

test.each(['bash', 'zsh', 'fish'])('the script for %s defines ops, which runs in any folder', async (shell) => {
  const script = await readScript(shell)
  expect(script).toContain(`npm --prefix '${process.cwd()}' run -s ops --`)
  for (const word of ['set-contact', '--replace-newest', '--dry-run']) expect(script).toContain(word)
})

test('another shell is refused', async () => {
  expect(await runCommand(['completion', 'csh'])).toEqual(
    refused(
      "Command-argument value 'csh' is invalid for argument 'shell'. Allowed choices are bash, zsh, fish. See: npm run -s ops -- completion --help\n",
    ),
  )
})
