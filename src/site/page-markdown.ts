// Every page as Markdown, for people who paste it and for language models. Node only.
import { gfm } from '@joplin/turndown-plugin-gfm'
import Turndown from 'turndown'
import { getMarkdownPath, type Page } from './page-shell.ts'

const turndown = new Turndown({ headingStyle: 'atx', codeBlockStyle: 'fenced', bulletListMarker: '-' })
turndown.use(gfm)
turndown.remove(['script', 'noscript', 'form', 'button'])
turndown.remove(({ nodeName }) => nodeName === 'svg' || nodeName === 'SVG')
// A card repeats the JSON beside it; a section with a form is its heading and fields.
turndown.remove(
  ({ className, nodeName, innerHTML }) =>
    className === 'card' || (nodeName === 'SECTION' && innerHTML.includes('<form')),
)
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

/** Names the page's address, and links to the Markdown of other pages. "Copy page" makes both absolute. */
export async function renderMarkdown(page: Page): Promise<string> {
  const text = page.markdown ?? turndown.turndown(String(await page.body))
  const linked = text.replaceAll(/\]\((\/[^\s)#]*)/g, (_, path: string) => `](${getTwinPath(path)}`)
  return `${linked.trim().replace('\n', `\n\nAddress: ${page.path}\n`)}\n`
}

/** The path of a file, such as `/openapi.json`, has a dot; that of a page has none. */
function getTwinPath(path: string): string {
  return path.includes('.') ? path : getMarkdownPath({ path })
}
