// Owns: every builtin of bash, each with the rule that makes it harmless or the reason it is never run.
// Refuses: builtins that run text, change how names are found, or evaluate an unknown value.
import { refuse } from './analysis.ts';
import { type Call, known, name, never, type Rule } from './call.ts';
import type { ShellWord } from './read-word.ts';
import { IDENTIFIER, setVariable } from './walk.ts';

/** Accepts any arguments: nothing is evaluated. */
const anything: Rule = (call) => call.list(true);

/** Every word must be known and match. */
function only(pattern: RegExp): Rule {
  return (call) => {
    for (const word of call.words.slice(1))
      if (!word.integer && !pattern.test(known(call, word)))
        refuse('shell.wrapper', `Cannot run ${name(call)} with ${word.canonical}`, word);
    call.list(true);
  };
}

function changeDirectory(call: Call): void {
  const target = call.words.slice(1).filter((word) => !/^-[LPe@]+$|^--$/.test(word.literal ?? ''));
  const to = target.length === 1 && target[0]!.splits === 'no' ? target[0]!.literal : undefined;
  const loop = call.walk.gathered.loops > 0;
  call.walk.gathered.directories.push({ to: to === '-' || to === '' ? undefined : to, loop });
  call.list(true);
}

/** `-v` evaluates a subscript, so no unknown word may become it and none may follow an unknown one. */
function test(call: Call): void {
  const words = call.words.slice(1);
  for (const [index, word] of words.entries()) {
    const before = words[index - 1];
    if (word.splits !== 'no' && !word.integer)
      refuse('shell.dynamic', `Cannot know how test reads ${word.canonical}: quote it`, word);
    if (word.literal === '-v' || word.literal === '-R')
      refuse(
        'shell.dynamic',
        `Cannot run test ${word.literal}: it evaluates what follows; use -n "\${x-}"`,
        word,
      );
    if (before !== undefined && before.literal === undefined && (word.literal?.includes('[') ?? true))
      refuse('shell.dynamic', `Cannot know how test reads ${word.canonical} after ${before.canonical}`, word);
  }
  call.list(true);
}

/** The format must be known: `-v` and `%n` set variables. */
function printf(call: Call): void {
  const format = call.words[call.words[1]?.literal === '--' ? 2 : 1];
  if (format !== undefined) {
    const value = known(call, format);
    if (value.startsWith('-') && call.words[1] === format)
      refuse('shell.dynamic', `Cannot run printf ${value}: it sets variables; use x=$(printf …)`, format);
    if (/%[^a-zA-Z%(]*[hlLjtz]*n/.test(value.replaceAll('%%', '')))
      refuse('shell.dynamic', 'Cannot run printf with %n: it sets variables', format);
  }
  call.list(true);
}

/** `export A=b C`: every name must be one that may be set. */
function declare(call: Call): void {
  for (const word of call.words.slice(1)) {
    if (/^-[gprx]+$|^--$/.test(word.literal ?? '')) continue;
    const [, variable, assigns] = /^([A-Za-z_][A-Za-z0-9_]*)(=|$)/.exec(word.prefix) ?? [];
    if (variable === undefined || word.splits !== 'no' || (word.literal === undefined && assigns !== '='))
      refuse('shell.dynamic', `Cannot let ${name(call)} set ${word.canonical}`, word);
    const start = variable.length + 1;
    const value = assigns === '=' ? word.literal?.slice(start) : undefined;
    // A value in brackets is evaluated when the name holds an array: a=(1); declare 'a=($(rm x))' runs rm.
    const unknown = assigns === '=' && value === undefined && /^(?:declare|typeset)$/.test(name(call));
    if (unknown || value?.startsWith('('))
      refuse(
        'shell.dynamic',
        `Cannot let ${name(call)} set ${word.canonical}: assign it without ${name(call)}`,
        word,
      );
    setVariable(call.walk, variable, word, value);
    const shown = value ?? word.canonical.slice(start);
    if (assigns === '=')
      call.walk.gathered.assignments.push({ name: variable, value: shown, dynamic: value === undefined });
  }
  call.list(true);
}

/** `read -r -p "$prompt" name`: names must be known, values of options only single words. */
function read(call: Call): void {
  const words = call.words.slice(1);
  let i = 0;
  for (; i < words.length; i++) {
    const option = /^-(?:[ers]*a|[ers]+|[ers]*([dinNptu])(.*))$/s.exec(known(call, words[i]!));
    if (option === null) break;
    if (option[2] === '' && words[++i]?.splits !== 'no')
      refuse('shell.dynamic', `Cannot know how read takes -${option[1]}: quote its value`, call.words[0]!);
  }
  for (const word of words.slice(i)) setName(call, word);
  call.list(true);
}

function unset(call: Call): void {
  for (const word of call.words.slice(1)) if (!/^-v$|^--$/.test(word.literal ?? '')) setName(call, word);
  call.list(true);
}

function setName(call: Call, word: ShellWord): void {
  const variable = known(call, word);
  if (!IDENTIFIER.test(variable))
    refuse('shell.dynamic', `Cannot let ${name(call)} set ${word.canonical}`, word);
  setVariable(call.walk, variable, word, undefined);
}

/** Only options that change neither parsing nor what an assignment means; after `--` come parameters. */
function set(call: Call): void {
  for (let i = 1; i < call.words.length; i++) {
    const word = call.words[i]!;
    const value = known(call, word);
    if (value === '--') break;
    const option = call.words[i + 1]?.literal ?? '';
    if (/^[-+][euxfCv]*o$/.test(value) && SET_OPTIONS.test(option)) i++;
    else if (!/^[-+][euxfCv]+$/.test(value))
      refuse('shell.dynamic', `Cannot run set ${word.canonical}: it changes how the shell works`, word);
  }
  call.list(true);
}

const SET_OPTIONS = /^(?:errexit|nounset|xtrace|pipefail|noglob|noclobber|verbose)$/;

/** `command -v` only looks; everything else runs what follows, functions left out. */
function command(call: Call): void {
  if (/^-[vV]$/.test(call.words[1]?.literal ?? '')) return call.list(true);
  runRest(call);
}

/** Runs a program in place of the shell, never a builtin; alone it only redirects. */
function exec(call: Call): void {
  runRest(call, true);
}

function runRest(call: Call, external = false): void {
  const rest = call.words.slice(call.words[1]?.literal === '--' ? 2 : 1);
  if (rest.length === 0) return call.list(true);
  if (rest[0]!.prefix.startsWith('-'))
    refuse('shell.wrapper', `Cannot run ${name(call)} with ${rest[0]!.canonical}`, rest[0]!);
  call.run(rest, { external });
}

const runsText = never('it runs text that is not known before; write the commands out');
const rebinds = never('it changes what a command name stands for');
const interactive = never('it is for interactive shells');

const TABLE: readonly (readonly [names: string, rule: Rule])[] = [
  [': true false echo pwd times exit return break continue shift dirs umask type', anything],
  ['cd', changeDirectory],
  ['pushd popd', (call) => changeDirectory({ ...call, words: call.words.slice(0, 1) })],
  ['test [', test],
  ['printf', printf],
  ['read', read],
  ['unset', unset],
  ['export readonly declare typeset', declare],
  ['set', set],
  ['shopt', only(/^-[suqp]$|^(?:nullglob|globstar|dotglob|failglob|nocaseglob|inherit_errexit|lastpipe)$/)],
  ['wait', only(/^-[fn]+$|^%?[0-9]+$/)],
  ['jobs', only(/^-[lnprs]+$/)],
  ['kill ulimit', (call) => call.list(false)],
  ['command', command],
  ['builtin', (call) => runRest(call)],
  ['exec', exec],
  ['eval . source trap', runsText],
  ['alias unalias hash enable', rebinds],
  [
    'local let getopts mapfile readarray',
    never('it evaluates or sets variables in ways that are not followed'),
  ],
  ['complete compgen compopt bind history fc fg bg disown suspend logout help caller', interactive],
];

/** Keyed by name. Every builtin of bash 5.3 has its row. */
export const BUILTINS: ReadonlyMap<string, Rule> = new Map(
  TABLE.flatMap(([names, rule]) => names.split(' ').map((builtin) => [builtin, rule] as const)),
);
