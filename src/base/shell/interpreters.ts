// Owns: programs that run what they read from their standard input, and the line that would give one the same code as a word.
// Refuses: to say that input is data where that is not certain: a word that only looks like an interpreter counts as one.
import type { SimpleCommand } from './analysis.ts';
import { quoteCommandWord, shellQuote } from './shell-quote.ts';

/** The option that takes code, and who has it. Given a file as the first word, those of `SCRIPTED` read their input as data. */
const SCRIPTED: Readonly<Record<string, string>> = {
  '-c': 'bash sh dash ash rbash zsh ksh ksh93 mksh oksh posh yash fish csh tcsh nu elvish xonsh pwsh powershell python pypy ipython jython bpython ptpython',
  '-e': 'node nodejs bun ruby jruby perl raku lua luajit Rscript julia groovy scala elixir ghc runghc ocaml osascript babashka bb guile gst sbcl racket tsx ts-node coffee crystal gjs qjs d8 hy',
  '-r': 'php',
};
const UNSCRIPTED: Readonly<Record<string, string>> = {
  '-c': 'psql duckdb clickhouse',
  '-e': 'mysql mariadb R deno irb iex erl pry tclsh wish expect jshell cqlsh clojure clj swipl octave gnuplot maxima gp bc dc ghci utop kotlin dart scheme mit-scheme swift sage m4 csi fsi',
  '-cmd': 'sqlite sqlite3',
  '--eval': 'mongo mongosh emacs redis-cli valkey-cli sqlcmd sqlplus',
};

interface Interpreter {
  readonly option: string;
  readonly scripted: boolean;
}

const TABLE: ReadonlyMap<string, Interpreter> = new Map(
  [SCRIPTED, UNSCRIPTED].flatMap((rows) =>
    Object.entries(rows).flatMap(([option, names]) =>
      names.split(' ').map((name) => [name, { option, scripted: rows === SCRIPTED }] as const),
    ),
  ),
);

/**
 * The line that is decided in place of input that this command would run, `python3 -c 'the input'`; undefined where its input is
 * data. A runner in front (`uv run python`, `npx node`) is part of the line.
 */
export function codeLine({ words, dynamic }: SimpleCommand, input: string): string | undefined {
  for (const [at, word] of words.entries()) {
    const found = interpreterOf(word);
    if (!found || (found.scripted && isFile(words[at + 1], dynamic.includes(at + 1)))) continue;
    const [first = '', ...others] = words.slice(0, at + 1);
    return [quoteCommandWord(first), ...[...others, found.option, input].map(shellQuote)].join(' ');
  }
  return undefined;
}

/** By the last part of its path, with or without a version: `/usr/bin/python3.12`. */
function interpreterOf(word: string): Interpreter | undefined {
  const base = word.slice(word.lastIndexOf('/') + 1);
  return TABLE.get(base) ?? TABLE.get(base.replace(/-?[0-9][0-9.]*t?$/, ''));
}

const isFile = (word: string | undefined, isDynamic: boolean): boolean =>
  word !== undefined && word !== '' && !isDynamic && !/^-|^\/(?:dev|proc)\//.test(word);
