// Lists every page of the site, with its title and address.
import { sandboxOrigin } from '../api/promises.ts'
import { createStartBlocks } from './blocks/start.ts'
import { createCardPicture } from './blocks/card-picture.ts'
import { createTryForm } from './blocks/try-form.ts'
import { formatCaseTable, formatFilterTable } from './blocks/plan-tables.ts'
import { formatErrorBlocks } from './blocks/error-blocks.ts'
import { tokenCommand } from './blocks/get-token.ts'
import { formatReferenceBlocks } from './blocks/reference.ts'
import { promised } from './blocks/promised.ts'
import { createSyncJob } from './blocks/sync-job.ts'
import { readProse, type Block } from './markdown.ts'
import type { Page, Section } from './page-shell.ts'

/** Lists all pages in sections. @param origin the origin of the service, empty if it is not known */
export function listSections(origin = ''): Section[] {
  return [
    {
      heading: 'Get started',
      pages: [
        {
          ...readPage(
            'start',
            'Get an access token and list your plans with curl, JavaScript, Python, PHP or Go.',
            createStartBlocks(),
          ),
          path: '/',
          title: 'Quick start',
        },
        readPage('try', 'Make both API calls from your browser, and see the plans as cards.', {
          form: createTryForm(origin, sandboxOrigin),
        }),
      ],
    },
    {
      heading: 'Guides',
      pages: [
        readPage('tokens', 'How to get, reuse and renew an access token, and protect the client secret.'),
        readPage('plans', 'Which plans a list contains, how to filter it, and how to read and show its values.', {
          filters: formatFilterTable(),
          picture: createCardPicture(),
        }),
        readPage('sync', 'How to request a list only if it has changed, and keep your own copy.', {
          job: createSyncJob(),
        }),
        readPage('limits', 'Rate limits, timeouts, TLS, IP addresses, the size of a list and request IDs.'),
        readPage('testing', 'The cases of the sandbox, a mock server, Postman and Bruno, and each error.', {
          cases: formatCaseTable(),
        }),
        readPage('client', 'Clients for TypeScript and Python, one file each, without dependencies.'),
      ],
    },
    {
      heading: 'Reference',
      pages: [
        readPage(
          'reference',
          'Both endpoints, and every field of a plan with its type, meaning and an example.',
          formatReferenceBlocks(),
        ),
        readPage('errors', 'Every error code with its cause and fix.', formatErrorBlocks()),
        readPage('promises', 'Availability, freshness and outages, and what to check before you go live.'),
        readPage('changes', 'What can change without notice, how we announce the rest, and the history.'),
        readPage('support', 'Whom to ask, and how to report incorrect data or a vulnerability.'),
      ],
    },
  ]
}

/** Reads the page at `/name` from pages/name.md. @param blocks the blocks that only this page has, by the name in its comments */
function readPage(name: string, description: string, blocks: Record<string, Block> = {}): Page {
  return { path: `/${name}`, description, ...readProse(`${name}.md`, { ...promised, token: tokenCommand, ...blocks }) }
}
