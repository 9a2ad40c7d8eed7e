// The table of contents: every page, with its title and address. Node only.
import { ownerAnswers, support } from '../api/promises.ts'
import { maxDigits } from '../catalog/plan-schema.ts'
import { readProse } from './markdown.ts'
import type { Page, Section } from './page-shell.ts'
import { renderErrors } from './pages/errors-page.ts'
import { renderPlans } from './pages/plans-page.ts'
import { renderPromises } from './pages/promises-page.ts'
import { renderReference } from './pages/reference-page.ts'
import { renderStart } from './pages/start-page.ts'
import { renderTesting } from './pages/testing-page.ts'
import { renderTry } from './pages/try-page.ts'

export function listSections(): Section[] {
  return [
    {
      heading: 'Get started',
      pages: [
        {
          path: '/',
          title: 'Quick start',
          description: 'Get an access token and list your investment plans with curl, JavaScript, Python, PHP or Go.',
          body: renderStart(),
        },
        {
          path: '/try',
          title: 'Try it',
          description: 'Send both API requests from your browser with your own credentials, and see the responses.',
          body: renderTry(),
          script: 'try-calls',
        },
        {
          path: '/plans',
          title: 'Your plans',
          description: 'See the plans of your country as your customers might see them.',
          body: renderPlans(),
          script: 'plan-cards',
        },
      ],
    },
    {
      heading: 'Guides',
      pages: [
        readProsePage('/tokens', 'How to get, reuse and renew an access token.'),
        readProsePage('/filters', 'Which plans a list contains, and how to filter it.'),
        readProsePage('/caching', 'How to request a list only if it has changed, and how fresh a list is.'),
        readProsePage('/sync', 'How to apply changes of the list to your own copy.'),
        readProsePage('/limits', 'Rate limits, lifetimes and timeouts.'),
        readProsePage('/operations', 'TLS, IP addresses, the size of a list, two countries and request IDs.'),
        {
          path: '/testing',
          title: 'Testing',
          description:
            'Test your program with the cases of the sandbox, a mock server, Postman or Bruno, and each error.',
          body: renderTesting(),
        },
        readProsePage('/client', 'Clients for TypeScript and Python, one file each, without dependencies.'),
      ],
    },
    {
      heading: 'Reference',
      pages: [
        {
          path: '/reference',
          title: 'API reference',
          description: 'Both endpoints, and every field of a plan with its type, meaning and an example.',
          body: renderReference(),
        },
        readProsePage('/catalog', 'Which values to expect, and how to read and show numbers, texts and artwork.', {
          digits: String(maxDigits),
          questions: formatQuestions(),
        }),
        {
          path: '/errors',
          title: 'Errors',
          description: 'Every error code with its cause and fix.',
          body: renderErrors(),
        },
        {
          path: '/promises',
          title: 'What you can rely on',
          description:
            'Availability, freshness, outages, notice before a breaking change, and whom to tell about errors.',
          body: renderPromises(),
        },
        readProsePage('/changes', 'What can change within version 3, and the history of changes.'),
      ],
    },
  ]
}

/** The page `/tokens` is in pages/tokens.md. @param blocks see `readProse`. */
function readProsePage(path: string, description: string, blocks?: Record<string, string>): Page {
  return { path, description, ...readProse(`${path.slice(1)}.md`, blocks) }
}

function formatQuestions(): string {
  const askSupport = `Ask [support](mailto:${support.email}).`
  const rows = Object.entries(ownerAnswers).map(([question, answer]) => `| ${question} | ${answer ?? askSupport} |`)
  return ['| Question | Answer |', '| --- | --- |', ...rows].join('\n')
}
