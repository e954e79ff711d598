// Owns: reading a program's options by a table: which take values, which make it start other programs.
// Refuses: to guess: an unknown word that could become a dangerous option is refused with the way round it.
import { refuse } from './analysis.ts';
import { anchored, type Call, known, name, type Rule } from './call.ts';
import type { ShellWord } from './read-word.ts';

/**
 * A program that runs as itself. Letters and long names are without dashes. `values` lists only options that always
 * take the next word, in every version of the program: one too many would hide that word.
 */
export interface Inspected {
  /** Options through which it starts other programs. */
  readonly bad?: { readonly letters?: string; readonly long?: string };
  readonly values?: { readonly letters?: string; readonly long?: string };
  /** Exact long options that are fine although a bad one starts like them. */
  readonly fine?: string;
  /** The first word may be letters without a dash, as for tar; their values all come after it. */
  readonly bundled?: boolean;
  /** Words that name another machine, which a helper program would be started for. */
  readonly remote?: RegExp;
}

/** A rule that lists the program as itself, unless an option makes it start another. */
export function inspects(spec: Inspected): Rule {
  return (call) => {
    inspect(call, call.words.slice(1), spec);
    call.list();
  };
}

export function inspect(call: Call, words: readonly ShellWord[], spec: Inspected): void {
  for (let i = 0; i < words.length; i++) {
    const word = words[i]!;
    if (word.literal === '--') return;
    const start = word.literal ?? word.prefix;
    if (!anchored(word) && !/^--[^=]+=/.test(start)) couldBeOption(call, word);
    if (word.literal === undefined && word.splits === 'free') couldBeOption(call, word);
    if (spec.remote?.test(start)) starts(call, word);
    if (spec.remote !== undefined && word.literal === undefined && !start.includes('/'))
      couldBeOption(call, word);
    const bundle = spec.bundled === true && i === 0 && !start.startsWith('-');
    if (bundle) known(call, word);
    if (bundle && [...start].some((letter) => spec.bad?.letters?.includes(letter))) starts(call, word);
    if (!bundle && takesNext(call, word, start, spec)) {
      const next = words[++i];
      if (next !== undefined && next.literal === undefined && next.splits !== 'no') couldBeOption(call, next);
    }
  }
}

/** Checks one word; true when its value is the next word. */
function takesNext(call: Call, word: ShellWord, text: string, spec: Inspected): boolean {
  if (text.startsWith('--')) {
    const [option, value] = split(text.slice(2));
    if (listed(spec.fine, option)) return false;
    // Abbreviations are options too.
    if (names(spec.bad?.long).some((bad) => bad.startsWith(option))) starts(call, word);
    return value === undefined && listed(spec.values?.long, option);
  }
  if (!text.startsWith('-') || text === '-') return false;
  for (let i = 1; i < text.length; i++) {
    if (spec.bad?.letters?.includes(text[i]!)) starts(call, word);
    if (spec.values?.letters?.includes(text[i]!)) return i === text.length - 1;
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

function starts(call: Call, word: ShellWord): never {
  refuse(
    'shell.wrapper',
    `Cannot run ${name(call)} with ${word.canonical}: it would start another program`,
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
