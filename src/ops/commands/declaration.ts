// What a command is, as data. Parsing, --help, attribution and the tests of the examples read it.
import type { Store } from '../store/store.ts'
import type { Attribution } from '../core/attribution.ts'
import type { Output, Run } from './run.ts'

export interface Argument {
  isOptional?: true
  /** All remaining words. */
  isList?: true
  /** The record must not hold it, such as a person's address. */
  isPrivate?: true
  /** @throws UserError when the word is no such value. */
  parse?: (text: string) => unknown
}

export interface Flag {
  help: string
  /** The name of its value; a flag without one is true or false. */
  value?: `<${string}>`
  default?: string
  isRequired?: true
  /** It may be given several times; any other flag only once. */
  isList?: true
  choices?: readonly string[]
  conflicts?: readonly string[]
  /** @throws UserError when the text is no such value. */
  parse?: (text: string) => unknown
}

/** Names are in camel case: the flag `replaceNewest` is --replace-newest, and the argument `shortName` is <short-name>. */
export interface Declaration {
  help: string
  /** The words after the name of the program. */
  example: string
  args?: Readonly<Record<string, Argument>>
  flags?: Readonly<Record<string, Flag>>
  /** What --json prints; without it, there is no such flag. */
  json?: string
  /** A change is recorded with its author, --as, and its reason, --note. A publication can also wait for a time, --at. */
  changes?: 'at-once' | 'publication'
  /** When the question comes that --yes skips; without it, there is no such flag. */
  asks?: string
  /** Where it works: on a local or deployed store that is opened for it, on one that it opens itself, or on none. */
  store?: 'itself' | 'none'
  /** What its progress says before its own steps. */
  progress?: string
  /** @returns what is wrong with arguments and flags that exclude each other; checked before a store is opened. */
  rule?: (values: Readonly<Record<string, unknown>>) => string | undefined
  /** Why it takes no words but flags, instead of quoting them. */
  refusesWords?: string
  /** It hands its words to wrangler, which reports the wrong ones. */
  passesOn?: true
}

export type Verbs = Readonly<Record<string, Declaration>>

/** Flags that commands share. They are absent from commands without them, and false or undefined there. */
export interface SharedInput {
  json: boolean
  as: string | undefined
  note: string | undefined
  /** Unix seconds. */
  at: number | undefined
}

type ValueOf<One> = One extends { parse: (text: string) => infer Value }
  ? Value
  : One extends { choices: readonly (infer Choice)[] }
    ? Choice
    : string

type FlagValue<One> = One extends { value: string }
  ?
      | (One extends { isList: true } ? ValueOf<One>[] : ValueOf<One>)
      | (One extends { default: string } | { isRequired: true } ? never : undefined)
  : boolean

type ArgumentValue<One> = One extends { isList: true }
  ? ValueOf<One>[]
  : ValueOf<One> | (One extends { isOptional: true } ? undefined : never)

type Own<D extends Declaration> = {
  [Name in keyof D['flags']]: FlagValue<D['flags'][Name]>
} & { [Name in keyof D['args']]: ArgumentValue<D['args'][Name]> }

/** What a command gets: its arguments, its flags, and the flags that commands share. */
export type Input<D extends Declaration> = Own<D> & Omit<SharedInput, keyof Own<D>>

/** Does what a declaration says. @returns what to print, unless it has printed by itself. */
export type Handler<D extends Declaration> = (
  input: Input<D>,
  run: Run &
    (D extends { store: string } ? unknown : { store: Store }) &
    (D extends { changes: string } ? { attribution: Attribution } : unknown),
) => Promise<Output | void>

/** The code of each verb. */
export type Handlers<Declared extends Verbs> = { [Verb in keyof Declared]: Handler<Declared[Verb]> }

/** A handler whose declaration is known only at run time. */
export type AnyHandler = (input: never, run: never) => Promise<Output | void>

export interface Noun {
  help: string
  verbs: Verbs
  /** Loads the code of a verb, alone or with others. */
  load: (verb: string) => Promise<Readonly<Record<string, AnyHandler>>>
}

/** `replaceNewest` is `--replace-newest`. */
export function toFlag(name: string): string {
  return `--${toKebabCase(name)}`
}

export function toKebabCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
}
