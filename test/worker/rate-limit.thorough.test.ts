import fc from 'fast-check'
import { expect, test } from 'vitest'
import { getNetwork } from '../../src/worker/rate-limit.ts'

test('counts an IPv4 address by itself', () => {
  expect(getNetwork('192.0.2.1')).toBe('192.0.2.1')
  expect(getNetwork()).toBe('none')
})

test.each([
  ['::ffff:192.0.2.1', '::ffff:c000:201'],
  ['0:0:0:0:0:FFFF:c000:0202', '::ffff:c000:202'],
  ['64:ff9b::192.0.2.1', '64:ff9b::c000:201'],
])('counts an IPv4 address in IPv6 by itself: %s', (address, network) => {
  expect(getNetwork(address)).toBe(network)
})

test('counts the Workers of each zone by themselves, and believes CF-Worker only of their address', () => {
  for (const address of ['2a06:98c0:3600::103', '2A06:98C0:3600:0:0::103']) {
    expect(getNetwork(address, 'partner.example')).toBe('worker:partner.example')
    expect(getNetwork(address)).toBe('2a06:98c0:3600::103')
  }
  expect(getNetwork('2a06:98c0:3600::104', 'partner.example')).toBe('2a06:98c0:3600:0')
  expect(getNetwork('192.0.2.1', 'partner.example')).toBe('192.0.2.1')
  expect(getNetwork(undefined, 'partner.example')).toBe('none')
})

test('counts IPv6 addresses by their first 64 bits, however they are abbreviated', () => {
  expect(getNetwork('::ffff:0:1:0:0')).toBe('0:0:0:ffff')
  expect(getNetwork('64:ff9b::1:192.0.2.1')).toBe('64:ff9b:0:0')
  const group = fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 0xffff })).map((value) => value.toString(16))
  const groups = fc.array(group, { minLength: 8, maxLength: 8 })
  fc.assert(
    fc.property(groups, fc.nat(8), fc.nat(8), (all, start, length) => {
      const network = all.slice(0, 4).join(':')
      fc.pre(!/^(?:0:0:0:0:0:ffff|64:ff9b:0:0:0:0|2a06:98c0:3600:0:0:0:0:103)/.test(all.join(':')))
      expect(getNetwork(all.join(':'))).toBe(network)
      const end = Math.min(8, start + length)
      if (end === start || all.slice(start, end).some((value) => value !== '0')) return
      expect(getNetwork(`${all.slice(0, start).join(':')}::${all.slice(end).join(':')}`)).toBe(network)
    }),
  )
})
