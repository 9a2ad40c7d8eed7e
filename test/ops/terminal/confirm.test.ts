import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { UserError } from '../../../src/ops/shared/user-error.ts'
import { confirm } from '../../../src/ops/terminal/confirm.ts'

test('a command may ask twice: the first answer leaves the terminal open', async () => {
  // Unlike an async generator, a stream is destroyed when a loop over it ends early.
  const stdin = Object.assign(new PassThrough(), { isTTY: true })
  let asked = ''
  const stderr = { write: (text: string) => (asked += text) }
  const target = { remote: true, env: 'staging' }
  stdin.write('y\n')
  await confirm({ stdin, stderr }, target, '2 plans will be removed.')
  stdin.write('yes\n')
  await confirm({ stdin, stderr }, target, 'Is all of this intended?')
  expect(asked).toBe(
    '[staging] 2 plans will be removed. Go ahead? [y/N] [staging] Is all of this intended? Go ahead? [y/N] ',
  )
  stdin.end()
  await expect(confirm({ stdin, stderr }, target, 'A third time?')).rejects.toThrow(new UserError([]))
})
