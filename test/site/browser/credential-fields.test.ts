import { expect, inject, test } from 'vitest'
import { visit } from './visit.ts'

const { origin } = inject('site')

test.each(['/try', '/plans'])('%s sends no credentials without JavaScript', async (path) => {
  await visit(
    path,
    async ({ page }) => {
      const requests: string[] = []
      page.on('request', (request) => requests.push(request.url()))
      await page.locator('[name=clientId]').fill('client')
      await page.locator('[name=clientSecret]').fill('secret')
      if (path === '/plans') await page.locator('[name=shortName]').fill('demo')
      await page.keyboard.press('Enter')
      await page.waitForTimeout(500)
      expect(page.url()).toBe(origin + path)
      expect(requests.join()).not.toContain('secret')
    },
    { javaScriptEnabled: false },
  )
})
