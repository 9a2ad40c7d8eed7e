// The nouns whose flags and code are still in two files.
<<<<<<< HEAD
import { partnerCommands } from './partner-commands.ts'
import { partnerDeclarations } from './partner-declarations.ts'
import type { Verb, Verbs } from './verb.ts'

export const partner = joinVerbs(partnerDeclarations, partnerCommands)
=======
import { catalogCommands } from './catalog-commands.ts'
import { catalogDeclarations } from './catalog-declarations.ts'
import { publicationCommands } from './publication-commands.ts'
import { publicationDeclarations } from './publication-declarations.ts'
import type { Verb, Verbs } from './verb.ts'

export const catalog = {
  ...joinVerbs(catalogDeclarations, catalogCommands),
  ...joinVerbs(publicationDeclarations, publicationCommands),
}
>>>>>>> 889a8fe (The verbs of partner are one file: set replaces rename, set-country and set-contact, lockdown --tokens-only replaces end-tokens, why says who ended which secrets and tokens, and identify reads a token)

function joinVerbs(declarations: Readonly<Record<string, object>>, code: Readonly<Record<string, Verb['run']>>): Verbs {
  const joined = Object.entries(declarations).map(([name, declared]) => [name, { ...declared, run: code[name] }])
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return Object.fromEntries(joined) as Verbs
}
