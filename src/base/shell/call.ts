// Owns: one command as the tables of builtins and programs see it, and reading its options by a table.
// Refuses: to know any command by name, and to guess: a word that could become a dangerous option is refused with the way round it.
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

/**
 * A program that runs as itself, and its options that start no other program and read no settings from elsewhere. Letters
 * and long names are without dashes. One that is not here is refused, an abbreviation too.
 */
export interface Inspected {
  /** Letters without a value. */
  readonly letters?: string;
  /** Letters whose value is the rest of the word or the next word. */
  readonly values?: string;
  /** Letters whose value, if any, is the rest of the word. */
  readonly attached?: string;
  /** Long names without a value, or with one after `=`. */
  readonly long?: string;
  /** Long names whose value is after `=` or in the next word. */
  readonly longValues?: string;
  /** Every long name may have `no-` before it. */
  readonly negatable?: boolean;
  /** `-5` is an option. */
  readonly digits?: boolean;
  /** The first word may be letters without a dash, as for tar; their values all come after it. */
  readonly bundled?: boolean;
  /** Words that name another machine, which a helper program would be started for. */
  readonly remote?: RegExp;
}

/** A rule that lists the program as itself, unless it is given an option that is not known to be harmless. */
export function inspects(spec: Inspected): Rule {
  return (call) => {
    inspect(call, call.words.slice(1), spec);
    call.list();
  };
}

export function inspect(call: Call, words: readonly ShellWord[], spec: Inspected): void {
  for (let i = 0; i < words.length; i++) {
    const word = words[i]!;
    if (word.literal === '--') {
      for (const operand of words.slice(i + 1)) checkRemote(call, operand, spec);
      return;
    }
    const start = word.literal ?? word.prefix;
    if (!anchored(word) && !/^--[^=]+=/.test(start)) couldBeOption(call, word);
    if (word.literal === undefined && word.splits === 'free') couldBeOption(call, word);
    const bundle = spec.bundled === true && i === 0 && !start.startsWith('-');
    if (bundle) {
      known(call, word);
      takesNext(call, word, `-${start}`, spec, true);
      continue;
    }
    if (!start.startsWith('-') || start === '-') {
      checkRemote(call, word, spec);
      continue;
    }
    if (!takesNext(call, word, start, spec)) continue;
    const next = words[++i];
    if (next === undefined) continue;
    if (next.literal === undefined && next.splits !== 'no') couldBeOption(call, next);
    // Were the program to take no value here, this would be an option that nobody has looked at.
    if (/^-./.test(next.literal ?? ''))
      refuse(
        'shell.wrapper',
        `Cannot tell whether ${next.canonical} is an option of ${name(call)} or the value of ${word.canonical}: write both as one word`,
        next,
      );
    checkRemote(call, next, spec);
  }
}

function checkRemote(call: Call, word: ShellWord, { remote }: Inspected, text?: string): void {
  if (remote === undefined) return;
  const value = text ?? word.literal ?? word.prefix;
  if (remote.test(value))
    refuse(
      'shell.wrapper',
      `Cannot run ${name(call)} with ${word.canonical}: it would start another program to reach the machine before the colon; put ./ before a name with a colon`,
      word,
    );
  if (word.literal === undefined && !value.includes('/')) couldBeOption(call, word);
}

/** Checks one option; true when its value is the next word. */
function takesNext(call: Call, word: ShellWord, text: string, spec: Inspected, bundle = false): boolean {
  if (text.startsWith('--')) {
    const [option, value] = split(text.slice(2));
    if (value !== undefined) checkRemote(call, word, spec, value);
    if (listed(spec.longValues, option)) return value === undefined;
    const plain = spec.negatable === true ? option.replace(/^no-/, '') : option;
    if (![option, plain].some((one) => listed(spec.long, one)) && !listed(spec.longValues, plain))
      notListed(call, word, `--${option}`);
    return false;
  }
  for (let i = 1; i < text.length; i++) {
    const letter = text[i]!;
    if (spec.letters?.includes(letter)) continue;
    if (spec.digits === true && /[0-9]/.test(letter)) continue;
    if (spec.attached?.includes(letter)) return false;
    if (!spec.values?.includes(letter)) notListed(call, word, `-${letter}`);
    if (bundle) continue;
    if (i < text.length - 1) checkRemote(call, word, spec, text.slice(i + 1));
    return i === text.length - 1;
  }
  return false;
}

/** How a program that only starts another takes its own options; `values` as above. Any other option is refused. */
export interface Wrapping {
  readonly letters?: string;
  readonly values?: { readonly letters?: string; readonly long?: string };
  readonly long?: string;
  /** Words between the options and the command: 1 for `timeout 5 cargo test`. */
  readonly operands?: number;
}

/** The index of the command's word; every word before it is known. `took` hears of each value. */
export function skipOptions(
  call: Call,
  spec: Wrapping,
  took: (option: string, value: string, word: ShellWord) => void = () => {},
): number {
  let i = 1;
  for (; i < call.words.length; i++) {
    const word = call.words[i]!;
    if (word.literal === undefined && anchored(word)) break;
    const text = known(call, word);
    if (text === '--') {
      i++;
      break;
    }
    if (!text.startsWith('-') || text === '-') break;
    const taken = takenBy(call, word, text, spec);
    if (taken !== undefined) took(taken[0], taken[1] ?? known(call, call.words[++i] ?? word), word);
  }
  for (let operand = 0; operand < (spec.operands ?? 0); operand++, i++)
    if (call.words[i] !== undefined) known(call, call.words[i]!);
  return i;
}

/** The option that takes a value, and the value where it is in the same word. */
function takenBy(
  call: Call,
  word: ShellWord,
  text: string,
  spec: Wrapping,
): [option: string, value: string | undefined] | undefined {
  if (text.startsWith('--')) {
    const [option, value] = split(text.slice(2));
    if (listed(spec.long, option) && value === undefined) return undefined;
    return listed(spec.values?.long, option) ? [option, value] : notKnown(call, word);
  }
  for (let i = 1; i < text.length; i++) {
    const letter = text[i]!;
    if (spec.letters?.includes(letter)) continue;
    if (!spec.values?.letters?.includes(letter)) notKnown(call, word);
    return [letter, i === text.length - 1 ? undefined : text.slice(i + 1)];
  }
  return undefined;
}

function split(text: string): [option: string, value: string | undefined] {
  const at = text.indexOf('=');
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)];
}

function names(list: string | undefined): readonly string[] {
  return list === undefined ? [] : list.split(' ');
}

function listed(list: string | undefined, option: string): boolean {
  return names(list).includes(option);
}

function notListed(call: Call, word: ShellWord, option: string): never {
  refuse(
    'shell.wrapper',
    `Cannot run ${name(call)} with ${option}: it is not among the options that are known to start no other program and to read no other settings; leave it out, write it in full, or let policy allow a script that holds the command`,
    word,
  );
}

function notKnown(call: Call, word: ShellWord): never {
  refuse(
    'shell.wrapper',
    `Cannot tell what ${name(call)} would start with ${word.canonical}: leave that option out`,
    word,
  );
}

function couldBeOption(call: Call, word: ShellWord): never {
  const message = `Cannot know whether ${word.canonical} becomes an option of ${name(call)}: quote it and put -- or ./ before it`;
  refuse('shell.dynamic', message, word);
}
