// Owns: one command as the tables of builtins and programs see it, and the small checks they share.
// Refuses: to know any command by name.
import { refuse } from './analysis.ts';
import type { ShellWord } from './read-word.ts';
import type { Dialect, Walk } from './walk.ts';

export interface Call {
  readonly walk: Walk;
  /** The command word and its arguments. The first is always literal. */
  readonly words: readonly ShellWord[];
  readonly env: Readonly<Record<string, string>>;
  readonly via: readonly string[];
  /** Started by another program, which knows no builtins of the shell. */
  readonly external: boolean;
  /** Lists the command as one that would run. */
  readonly list: (inert?: boolean) => void;
  /** Goes on with the words of a command that this one starts. */
  readonly run: (words: readonly ShellWord[], more?: Partial<Pick<Call, 'env' | 'external'>>) => void;
  /** Goes on with text that this command hands to a shell. */
  readonly text: (text: ShellWord, dialect: Dialect) => void;
}

export type Rule = (call: Call) => void;

/** The value of a word that must be known before running. */
export function known(call: Call, word: ShellWord): string {
  if (word.literal === undefined || word.splits !== 'no')
    refuse(
      'shell.dynamic',
      `Cannot know what ${name(call)} does with ${word.canonical}: write the value out`,
      word,
    );
  return word.literal;
}

/** True when the word can be no option, whatever it becomes. */
export function anchored(word: ShellWord): boolean {
  if (word.literal !== undefined) return true;
  return word.splits !== 'free' && word.prefix !== '' && !word.prefix.startsWith('-');
}

export function name(call: Call): string {
  return call.words[0]!.literal!;
}

/** A rule for commands that are never let through. */
export function never(why: string): Rule {
  return (call) => refuse('shell.wrapper', `Cannot run ${name(call)}: ${why}`, call.words[0]!);
}

/** A word like `word`, of which only the start is known. */
export function openEnded(word: ShellWord, prefix: string, canonical: string): ShellWord {
  return { ...word, literal: undefined, prefix, canonical, integer: false };
}
