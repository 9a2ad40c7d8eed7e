// Draws a landscape for a plan's card. The site's Content-Security-Policy forbids the plan's own image.
import { html } from 'hono/html'
import type { Markup } from './page-shell.ts'

/** The colors of the sky, the sun and the hills, from far to near. */
const palettes = [
  ['#f6d9a8', '#d9532c', '#d98f5c', '#a65f3e', '#5f3527'],
  ['#cfe6e4', '#f2b134', '#7fb7a8', '#3f8573', '#1d4b41'],
  ['#f3c7b1', '#fff1d6', '#c9776a', '#8a4658', '#472a44'],
  ['#d6e4f2', '#f7c948', '#8fa9c9', '#50729c', '#25405f'],
  ['#e4e9c5', '#e8833a', '#b3bd72', '#748643', '#3d4c26'],
  ['#fbe3bf', '#c8452b', '#e0ab52', '#8f7a3a', '#3f4a2f'],
  ['#1f3350', '#f4e3b5', '#3d5a80', '#2c4365', '#16243a'],
  ['#f7d6d0', '#e4572e', '#b5838d', '#6d6875', '#3b3a4a'],
  ['#d9ecf2', '#f4a259', '#9fc2b2', '#5b8e7d', '#2f5548'],
  ['#efe3d0', '#b23a48', '#cfae8b', '#9a7650', '#55402c'],
] as const

const width = 320
const artHeight = 128

/** Renders a landscape that is always the same for the same identifier. */
export function renderArtwork(identifier: string): Markup {
  const random = createRandom(identifier)
  const [sky, sun, ...hills] = palettes[Math.floor(random() * palettes.length)] ?? palettes[0]
  const radius = 12 + random() * 14
  return html`<svg
    class="artwork"
    viewBox="0 0 ${width} ${artHeight}"
    preserveAspectRatio="xMidYMid slice"
    aria-hidden="true"
  >
    <rect width="${width}" height="${artHeight}" fill="${sky}" />
    <circle cx="${round(60 + random() * 200)}" cy="${round(26 + random() * 34)}" r="${round(radius)}" fill="${sun}" />
    ${hills.map((color, index) => html`<path d="${drawRidge(58 + 22 * index, random)}" fill="${color}" />`)}
  </svg>`
}

/**
 * Returns the SVG path of a row of hills with random heights, filled down to the bottom edge. Neighboring hills meet half-way between their
 * heights, where both curves have the same slope, so that the ridge has no corners.
 * @param level the average height of the hills, measured from the top edge.
 */
function drawRidge(level: number, random: () => number): string {
  const hillWidth = 80
  const pickHeight = () => level + (random() - 0.5) * 50
  let height = pickHeight()
  let nextHeight = pickHeight()
  let path = `M0 ${round((height + nextHeight) / 2)}`
  for (let x = 0; x < width; x += hillWidth) {
    height = nextHeight
    nextHeight = pickHeight()
    path += `Q${x + hillWidth / 2} ${round(height)} ${x + hillWidth} ${round((height + nextHeight) / 2)}`
  }
  return `${path}V${artHeight}H0z`
}

/** Creates a generator of numbers from 0 to 1 (mulberry32), seeded with the FNV-1a hash of the text. */
function createRandom(text: string): () => number {
  let state = 0x81_1c_9d_c5
  for (const character of text) state = Math.imul(state ^ (character.codePointAt(0) ?? 0), 0x01_00_01_93)
  return () => {
    state = (state + 0x6d_2b_79_f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Rounds to one decimal place, so that the SVG is short. */
function round(value: number): number {
  return Math.round(10 * value) / 10
}
