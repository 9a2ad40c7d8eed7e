// Every page as Markdown, for people who paste it and for language models. Node only.
import { gfm } from '@joplin/turndown-plugin-gfm'
import Turndown from 'turndown'
import type { Page } from './page-shell.ts'

const turndown = new Turndown({ headingStyle: 'atx', codeBlockStyle: 'fenced', bulletListMarker: '-' })
turndown.use(gfm)
turndown.remove(['script', 'noscript', 'form', 'button'])
turndown.remove(({ nodeName }) => nodeName === 'svg' || nodeName === 'SVG')
turndown.addRule('deep link', {
  filter: (node) => node.className === 'deep-link',
  replacement: (content) => content,
})
// The code of a sample: its language is in an attribute of the block.
turndown.addRule('code block', {
  filter: (node) => node.nodeName === 'PRE',
  replacement: (_, node) => {
    const language = 'getAttribute' in node ? (node.getAttribute('data-language') ?? '') : ''
    return `\n\n\`\`\`${language}\n${(node.textContent ?? '').trimEnd()}\n\`\`\`\n\n`
  },
})

export async function renderMarkdown(page: Page): Promise<string> {
  return `${turndown.turndown(String(await page.body)).trim()}\n`
}
