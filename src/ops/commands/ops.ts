// The operators' command line: its nouns, and where the code of their commands is.
import { catalogDeclarations } from './catalog-declarations.ts'
import { keysDeclarations } from './keys-declarations.ts'
import { partnerDeclarations } from './partner-declarations.ts'
import { planDeclarations } from './plan-declarations.ts'
import type { Program } from './program.ts'
import { publicationDeclarations } from './publication-declarations.ts'
import { serviceDeclarations } from './service-declarations.ts'

export const ops: Program = {
  name: 'ops',
  command: 'npm run -s ops --',
  usage: '<noun> <verb> [flags]',
  help: `Operate the partner investment plan catalog.

Start with these, and add --help to any command:
  npm run -s ops -- partner create --short-name acme --name "Acme Wallet" --country KE
  npm run -s ops -- catalog import plans.json --dry-run
  npm run -s ops -- plan why ID --partner acme`,
  footer: `
Run it as: npm run -s ops -- <noun> <verb> [flags]
Without the -- before them, npm keeps flags such as --dry-run for itself.
In the project folder, npx ops <noun> <verb> [flags] does the same.
`,
  nouns: {
    partner: {
      help: 'onboard partners, and manage their credentials',
      verbs: partnerDeclarations,
      load: async () => (await import('./partner-commands.ts')).partnerCommands,
    },
    catalog: {
      help: 'import and export the plan catalog, and its record of changes',
      verbs: { ...catalogDeclarations, ...publicationDeclarations },
      load: async (verb) =>
        verb in publicationDeclarations
          ? (await import('./publication-commands.ts')).publicationCommands
          : (await import('./catalog-commands.ts')).catalogCommands,
    },
    plan: {
      help: 'see and change single plans, and who sees them; ID is the identifier of a plan, or its id',
      verbs: planDeclarations,
      load: async () => (await import('./plan-commands.ts')).planCommands,
    },
    keys: {
      help: 'the keys that sign access tokens',
      verbs: keysDeclarations,
      load: async () => (await import('./keys-commands.ts')).keysCommands,
    },
    '': {
      help: '',
      verbs: serviceDeclarations,
      load: async () => (await import('./service-commands.ts')).serviceCommands,
    },
  },
}
