// The page that a browser gets with status 404.
import { html } from 'hono/html'
import type { Page } from './page-shell.ts'

export const notFoundPage: Page = {
  path: '/404',
  title: 'Page not found',
  description: 'This address has no page.',
  markdown: '',
  body: html`<article class="prose">
    <h1>Page not found</h1>
    <p>This address has no page. Go to the <a href="/">start page</a>, or search for what you need.</p>
  </article>`,
}
