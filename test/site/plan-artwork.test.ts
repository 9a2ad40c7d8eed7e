import { expect, test } from 'vitest'
import { renderArtwork } from '../../src/site/plan-artwork.ts'

test('the hills of an artwork have no kinks: two curves meet half-way between their control points', async () => {
  const artwork = String(await renderArtwork('mwamba-money-market-fund'))
  const ridges = [...artwork.matchAll(/ d="(M0 [^"]*)"/g)].map(([, path = '']) => path)
  expect(ridges.length).toBe(3)
  for (const ridge of ridges) {
    const curves = [...ridge.matchAll(/Q\S+ (\S+) \S+ ([\d.]+)/g)].map(([, control, end]) => [
      Number(control),
      Number(end),
    ])
    expect(curves.length).toBe(4)
    for (const [index, [control = 0, end = 0]] of curves.slice(0, -1).entries())
      expect(end).toBeCloseTo((control + (curves[index + 1]?.[0] ?? 0)) / 2, 0)
  }
})
