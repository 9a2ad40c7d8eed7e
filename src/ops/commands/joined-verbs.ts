// The nouns whose flags and code are still in two files.
import { partnerCommands } from './partner-commands.ts'
import { partnerDeclarations } from './partner-declarations.ts'
import type { Verb, Verbs } from './verb.ts'

export const partner = joinVerbs(partnerDeclarations, partnerCommands)

function joinVerbs(declarations: Readonly<Record<string, object>>, code: Readonly<Record<string, Verb['run']>>): Verbs {
  const joined = Object.entries(declarations).map(([name, declared]) => [name, { ...declared, run: code[name] }])
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return Object.fromEntries(joined) as Verbs
}
