// Declares a verb as an object, with its arguments, its flags and its code. The parser, --help, the record and the tests read the object.
import type { Attribution } from '../../core/record/attribution.ts'
import type { Store } from '../../store/store.ts'
import type { Output, Run } from './run.ts'

export interface Flag {
  help: string
  /** The name of the value in --help. A flag without this name takes no value: `run` gets true or false. */
  value?: `<${string}>`
  default?: string
  isRequired?: true
  /** The flag may be repeated, and gets an array. No other flag with a value may be repeated. */
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

/**
 * Names are in camel case: the flag `replaceNewest` is --replace-newest, and the argument `shortName` is <short-name>. `In` and `RunType`
 * are the parameters of `run`, which depend on the other members: see `verb`.
 */
interface Definition<Args, FlagSet, Kind, StoreUse, In, RunType> {
  help: string
  /** A command line, from the noun on, such as `partner list --json`. */
  example: string
  args?: Args
  flags?: FlagSet
  /** Describes the output of --json. A verb without this text has no --json. */
  json?: string
  /**
   * The kind of change that the verb makes. The record keeps the author and the reason: --as and --note. `at-once`: the change takes effect
   * now. `publication`: a change of plans, which can be scheduled with --at.
   */
  changes?: Kind
  /** The verb asks before it changes a deployed environment, and has --yes. A publication always has --yes. */
  asks?: true
  /** Undefined: `run` gets an open store. `itself`: `run` opens the store. `none`: the verb lacks the shared flags that choose a store. */
  store?: StoreUse
  /** @returns texts that the record must not keep, such as a person's address. */
  listHiddenTexts?: (input: In) => string[]
  /** The error of a verb without arguments, when the operator types an argument. Commander's own error would quote the argument, which may be a secret. */
  noArgumentsError?: string
  /** The verb passes unknown flags on to wrangler, which refuses wrong ones. */
  passesFlagsOn?: true
  /** @returns the output; undefined when the verb has printed everything. @throws UserError for a mistake of the user. */
  run: (input: In, run: RunType) => Promise<Output | void>
}

/** A verb whose flags are known only at run time. */
export type Verb = Definition<Arguments, Flags, ChangeKind | undefined, Opens | undefined, never, never>
export type Verbs = Readonly<Record<string, Verb>>

/** Shared flags that the code of a verb may read. In a verb without such a flag, the value is undefined. */
export interface SharedInput {
  json: boolean | undefined
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

export type Input<Args, FlagSet> = { [Name in keyof Args]: ArgumentValue<Args[Name]> } & {
  [Name in keyof FlagSet]: FlagValue<FlagSet[Name]>
} & Omit<SharedInput, keyof Args | keyof FlagSet>

/** The second argument of `run` of a verb that changes something. A dry run gets no `attribution`. */
export type ChangeRun = Run & { store: Store; attribution: Attribution }

type RunOf<Kind, StoreUse> = Run &
  (StoreUse extends Opens ? unknown : { store: Store }) &
  (Kind extends ChangeKind ? { attribution: Attribution } : unknown)

/** The type of no arguments, or of no flags. */
// oxlint-disable-next-line typescript/no-generated-empty-object-type
type None = Record<never, never>

/** Returns the definition unchanged. Its type parameters let the compiler infer the types of the parameters of `run`. */
export function verb<
  const Args extends Arguments = None,
  const FlagSet extends Flags = None,
  Kind extends ChangeKind | undefined = undefined,
  StoreUse extends Opens | undefined = undefined,
>(definition: Definition<Args, FlagSet, Kind, StoreUse, Input<Args, FlagSet>, RunOf<Kind, StoreUse>>): Verb {
  return definition
}

/** `replaceNewest` → `replace-newest` */
export function toKebabCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
}
