// A verb: its arguments, its flags and its code, in one object. The parser, --help, the record and the tests read it.
import type { Attribution } from '../../core/record/attribution.ts'
import type { Store } from '../../store/store.ts'
import type { Output, Run } from './run.ts'

export interface Flag {
  help: string
  /** The name of the value in --help. A flag without it has no value: it is true or false. */
  value?: `<${string}>`
  default?: string
  isRequired?: true
  /** The flag may be repeated. Other flags may not. */
  isList?: true
  choices?: readonly string[]
  conflicts?: readonly string[]
  /** @throws UserError when the text is wrong. */
  parse?: (text: string, nowSeconds: number) => unknown
}

export interface Argument {
  isOptional?: true
  /** The argument takes all remaining words. */
  isList?: true
  /** @param words one word, or the array of words of a list. @throws UserError when a word is wrong. */
  parse?: (words: never) => unknown
}

export type Arguments = Readonly<Record<string, Argument>>
export type Flags = Readonly<Record<string, Flag>>
type ChangeKind = 'at-once' | 'publication'
type Opens = 'itself' | 'none'

/** Names are in camel case: the flag `replaceNewest` is --replace-newest, and the argument `shortName` is <short-name>. */
interface Definition<A, F, C, S, I, R> {
  help: string
  /** A command line, from the noun on, such as `partner list --json`. */
  example: string
  args?: A
  flags?: F
  /** Describes the output of --json; without it, there is no such flag. */
  json?: string
  /** The kind of change: both record --as and --note. `at-once` changes something now. A `publication` may be made later, with --at. */
  changes?: C
  /** Whether the verb asks before it changes a deployed environment, so that it takes --yes. Every publication may ask. */
  asks?: true
  /** By default, the verb gets an open store. `itself`: the verb opens the store. `none`: it needs no store. */
  store?: S
  /** @returns texts that the record must not keep, such as a person's address. */
  hides?: (input: I) => string[]
  /** The error for words that are not flags. Commander's own error would quote the words, which may be secret. */
  whyNoArguments?: string
  /** Whether the verb passes unknown flags on to wrangler, which refuses wrong ones. */
  passesOn?: true
  /** @returns what to print; nothing when the verb has printed everything. @throws UserError for a mistake. */
  run: (input: I, run: R) => Promise<Output | void>
}

/** A verb whose flags are known only at run time. */
export type Verb = Definition<Arguments, Flags, ChangeKind | undefined, Opens | undefined, never, never>
export type Verbs = Readonly<Record<string, Verb>>

/** The flags of many verbs that the code of a verb may read. A verb without such a flag gets undefined, or false. */
export interface SharedInput {
  json: boolean
  as: string | undefined
  note: string | undefined
  /** Unix seconds. */
  at: number | undefined
}

type ValueOf<One> = One extends { parse: (text: string, nowSeconds: number) => infer Value }
  ? Value
  : One extends { choices: readonly (infer Choice)[] }
    ? Choice
    : string

type FlagValue<One> = One extends { value: string }
  ?
      | (One extends { isList: true } ? ValueOf<One>[] : ValueOf<One>)
      | (One extends { default: string } | { isRequired: true } ? never : undefined)
  : boolean

type ArgumentValue<One> = One extends { parse: (words: never) => infer Value }
  ? Value
  : One extends { isList: true }
    ? string[]
    : string | (One extends { isOptional: true } ? undefined : never)

/** The first argument of `run`: the arguments and flags of the command line, by name. */
export type Input<A, F> = { [Name in keyof A]: ArgumentValue<A[Name]> } & {
  [Name in keyof F]: FlagValue<F[Name]>
} & Omit<SharedInput, keyof A | keyof F>

/** The second argument of `run` of a verb that changes something. */
export type ChangeRun = Run & { store: Store; attribution: Attribution }

type RunOf<C, S> = Run &
  (S extends Opens ? unknown : { store: Store }) &
  (C extends ChangeKind ? { attribution: Attribution } : unknown)

/** The type of no arguments, or of no flags. */
// oxlint-disable-next-line typescript/no-generated-empty-object-type
type None = Record<never, never>

/** Lets the compiler infer the arguments of `run`. */
export function verb<
  const A extends Arguments = None,
  const F extends Flags = None,
  C extends ChangeKind | undefined = undefined,
  S extends Opens | undefined = undefined,
>(definition: Definition<A, F, C, S, Input<A, F>, RunOf<C, S>>): Verb {
  return definition
}

/** `replaceNewest` is `replace-newest`. */
export function toKebabCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
}
