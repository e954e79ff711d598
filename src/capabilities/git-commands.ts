// Owns: which words of a repository's setting name a file that git, or a shell for it, would run: whether or not it is there.
// Refuses: to look at the disk, and to take words for files that are looked for in PATH (`less -R`, `git-lfs clean`).

/** Paths as written: relative ones count from wherever git starts the program. `key` as parseGitConfig gives it. */
export function programWords(key: string, value: string): string[] {
  if (!STARTS.test(key)) return [];
  if (key.startsWith('alias.') && !value.trimStart().startsWith('!')) return [];
  const line = value.trimStart().replace(/^!/, '');
  // Started without a shell, so that blanks belong to the name.
  const whole = WITHOUT_SHELL.test(key) && line.includes('/') ? [line] : [];
  return [...new Set([...whole, ...wordsOf(line)])].filter(isPath);
}

/** By the last name of the setting, so that ones which git has yet to invent count, too. */
const STARTS =
  /^(?:alias|pager)\.|\.(?:[^.]*(?:cmd|command|program|hook|helper|editor|pager|askpass|proxy|tool|filter)|browser|clean|driver|external|fsmonitor|httpd|path|process|receivepack|smtpserver|smudge|textconv|tunnel|update|uploadpack)$/s;
const WITHOUT_SHELL = /\.(?:askpass|gitproxy|path|program|smtpserver)$/;

const MAX_NESTED = 4;

function wordsOf(line: string, nested = 0): string[] {
  const found: string[] = [];
  // What stands before the slash is most often the work tree, or the folder of the script itself.
  const text = line.replace(FOLDER_BY_NAME, './');
  /** Whether the next word is a command, or the script of an interpreter. */
  let next: 'command' | 'script' | 'argument' = 'command';
  for (const [token, double, single] of text.matchAll(TOKEN)) {
    const quoted = double ?? single;
    if (quoted === undefined && SEPARATOR.test(token)) {
      next = 'command';
      continue;
    }
    if (quoted !== undefined && nested < MAX_NESTED && /[\s;&|]/.test(quoted))
      found.push(...wordsOf(quoted, nested + 1));
    const [, name = '', word = ''] = /^([\w-]*=)?(.*)$/s.exec(quoted ?? token) ?? [];
    if (
      SPELT_AS_PATH.test(word) ||
      SCRIPT.test(word) ||
      (next === 'command' && word.includes('/')) ||
      (next === 'script' && !word.startsWith('-'))
    )
      found.push(word);
    if (name !== '' || (next === 'command' && GOES_ON.test(word))) continue;
    if (next === 'command') next = INTERPRETER.test(word) ? 'script' : 'argument';
    else if (next === 'script' && (!word.startsWith('-') || /^-[cem]/.test(word))) next = 'argument';
  }
  return found;
}

const FOLDER_BY_NAME = /(["'])\$(?:\{[^}]*\}|\w+|\([^()]*\))\1\/|\$(?:\{[^}]*\}|\w+|\([^()]*\))\/|`[^`]*`\//g;
const TOKEN = /"([^"]*)"|'([^']*)'|[;&|(){}`\n]+|[^\s"';&|(){}`<>]+/g;
const SEPARATOR = /^[;&|(){}`\n]+$/;
const SPELT_AS_PATH = /^(?:~|\.{0,2})\//;
const SCRIPT = /[^/.]\.(?:[bz]?a?sh|py|pl|rb|[cm]?[jt]s|php|lua|awk|tcl|exe|jar|cmd|bat|ps1)$/i;
const GOES_ON = /^(?:!|command|do|else|elif|env|exec|if|nice|nohup|sudo|then|time|until|while)$/;
const INTERPRETER =
  /^(?:.*\/)?(?:(?:[akz]|ba|da|fi|mk|c|tc)?sh|python[\d.]*|node|nodejs|perl|ruby|php|lua|deno|bun|tsx|source|\.)$/;

/** Patterns, variables and addresses name no file of their own. */
const isPath = (word: string): boolean =>
  word.length <= 4096 && !/[\0$*?%]|:\/\//.test(word) && !/(?:^|\/)\.{0,2}$/.test(word);
