import { readdir, readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { expect, inject, test } from 'vitest'
import { visit } from './visit.ts'

const { origin } = inject('site')
const permissions = ['clipboard-read', 'clipboard-write']
const samplesFolder = resolve(import.meta.dirname, '../../../src/site/samples')

test('every sample can be copied and downloaded exactly as it is in src/site/samples', async () => {
  const files = await readdir(samplesFolder)
  await visit({ path: '/', permissions }, async ({ page }) => {
    const offered = await page.locator('.file').allTextContents()
    expect(offered.toSorted()).toEqual(files)
    for (const label of await page.locator('.tabs label').all()) {
      await label.click()
      const panel = page.locator('.panel:visible')
      const file = await panel.locator('.file').innerText()
      const copied: string[] = []
      for (const button of await panel.locator('.copy').all()) {
        await button.click()
        copied.push(await page.evaluate(() => navigator.clipboard.readText()))
      }
      const source = await readFile(join(samplesFolder, file), 'utf8')
      expect(copied).toEqual([expect.stringContaining(`curl -fsSO $API/samples/${file}\n`), source.trimEnd()])
      expect(await (await fetch(`${origin}/samples/${file}`)).text()).toBe(source)
    }
  })
})

// In this file because all pages share one clipboard.
test('"Copy page" copies the page as Markdown', async () => {
  await visit({ path: '/tokens', permissions }, async ({ page }) => {
    await page.getByRole('button', { name: 'Copy page' }).click()
    await page.getByText('Copied').first().waitFor()
    const copied = await page.evaluate(() => navigator.clipboard.readText())
    expect(copied).toMatch(new RegExp(`^# Tokens\n\nAddress: ${origin}/tokens\n[^]*\\]\\(${origin}/errors\\.md`))
    expect(copied).toContain('curl -X POST -u "$CLIENT_ID" http://')
    expect(copied).toMatch(/\| Ruby, `oauth2` +\| `auth_scheme: :basic_auth/)
  })
})

test('an arrow key selects the next language', async () => {
  await visit('/', async ({ page }) => {
    await page.locator('[value="curl"]').focus()
    await page.keyboard.press('ArrowRight')
    expect(await page.locator('.panel:visible .file').innerText()).toBe('javascript.mjs')
  })
})

test('a language stays chosen at the next visit, and on pages that have it', async () => {
  await visit('/', async ({ page }) => {
    const readFiles = () => page.locator('.panel:visible .file').allTextContents()
    for (const [label, sample, job] of [
      ['JavaScript', 'javascript.mjs', 'sync.mjs'],
      ['PHP', 'php.php', 'sync.py'],
    ] as const) {
      await page.goto('/')
      await page.getByText(label, { exact: true }).click()
      await page.goto('/sync')
      expect(await readFiles()).toEqual([job])
      await page.goto('/')
      expect(await readFiles()).toEqual([sample])
    }
  })
})
