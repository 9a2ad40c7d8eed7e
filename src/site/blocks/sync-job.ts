// The sync job of the page "Caching and sync", in the languages of the clients.
import { createTabs } from './tabs.ts'

const jobs = [
  {
    label: 'Python',
    file: 'client/sync.py',
    language: 'python',
    command: 'curl -fOO "$API/client/sync.py" "$API/client/investment_plans.py"\npython3 sync.py',
  },
  {
    label: 'JavaScript',
    file: 'client/sync.mjs',
    language: 'javascript',
    command: 'curl -fOO "$API/client/sync.mjs" "$API/client/investment-plans.mts"\nnode sync.mjs',
  },
]

export const syncFiles = jobs.map(({ file }) => file)
export const createSyncJob = () => createTabs(jobs)
