import { expect, test } from 'vitest'
import { decodeText } from '../../../src/ops/core/decode-text.ts'
import { UserError } from '../../../src/ops/core/user-error.ts'

const text = '{"name":"Société 😀"}'

function encodeUtf16(isLittleEndian: boolean): Uint8Array {
  const marked = `\ufeff${text}`
  const view = new DataView(new ArrayBuffer(2 * marked.length))
  for (let index = 0; index < marked.length; index++) {
    view.setUint16(2 * index, marked.charCodeAt(index), isLittleEndian)
  }
  return new Uint8Array(view.buffer)
}

test.each([
  ['UTF-8', new TextEncoder().encode(text)],
  ['UTF-8 with a byte order mark', new TextEncoder().encode(`\ufeff${text}`)],
  ['UTF-16, as Windows writes it', encodeUtf16(true)],
  ['UTF-16 in big-endian order', encodeUtf16(false)],
])('reads %s', (_, bytes) => {
  expect(decodeText(bytes)).toBe(text)
})

test.each([
  ['UTF-8', Uint8Array.of(0x63, 0x61, 0x66, 0xe9)],
  ['UTF-16LE', Uint8Array.of(0xff, 0xfe, 0x00)],
])('refuses what is not %s, and names the fix', (encoding, bytes) => {
  expect(() => decodeText(bytes)).toThrow(
    new UserError(`The file is not ${encoding} text. Save it again with the encoding UTF-8, or export it again.`),
  )
})
