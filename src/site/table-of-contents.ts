// The table of contents of the site. Node only.
import type { Plan } from './client/investment-plans.ts'
import { readProse } from './markdown.ts'
import type { Page, Section } from './page-shell.ts'
import { renderErrors } from './pages/errors-page.ts'
import { renderPlanFields } from './pages/plan-fields-page.ts'
import { renderPlans } from './pages/plans-page.ts'
import { renderReference } from './pages/reference-page.ts'
import { renderStart } from './pages/start-page.ts'
import { renderTry } from './pages/try-page.ts'

/** @param plan the one that the start page shows. */
export function listSections(plan: Plan): Section[] {
  return [
    {
      heading: 'Get started',
      pages: [
        {
          path: '/',
          title: 'Start',
          description: 'From your credentials to the first list of investment plans in five minutes.',
          body: renderStart(plan),
        },
        {
          path: '/try',
          title: 'Try it',
          description: 'The two calls with your own credentials, and what comes back.',
          body: renderTry(),
          program: 'try-calls',
        },
        {
          path: '/plans',
          title: 'Your plans',
          description: 'The plans of your country as your customers might see them.',
          body: renderPlans(),
          program: 'plan-cards',
        },
      ],
    },
    {
      heading: 'Guides',
      pages: [
        prose('/tokens', 'tokens.md', 'Getting, keeping and renewing an access token.'),
        prose('/filters', 'filters.md', 'Which plans a list holds, and how to narrow it.'),
        prose('/caching', 'caching.md', 'Asking again cheaply, and how fresh a list is.'),
        prose('/limits', 'limits.md', 'How often, how much, how long.'),
        prose('/client', 'client.md', 'A client in one file, for copying.'),
      ],
    },
    {
      heading: 'Reference',
      pages: [
        {
          path: '/reference',
          title: 'API reference',
          description: 'Both endpoints with every parameter, header and answer.',
          body: renderReference(),
          program: 'api-reference',
          isFull: true,
        },
        {
          path: '/plan-fields',
          title: 'Plan fields',
          description: 'Every field of a plan with its type, meaning and an example.',
          body: renderPlanFields(),
        },
        {
          path: '/errors',
          title: 'Errors',
          description: 'Every error code with its cause and its fix.',
          body: renderErrors(),
        },
        prose('/changes', 'changes.md', 'What may change within version 3, and what has.'),
      ],
    },
  ]
}

function prose(path: string, file: string, description: string): Page {
  const { title, body } = readProse(file)
  return { path, title, description, body }
}
