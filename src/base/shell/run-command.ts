// Owns: one simple command: its words, assignments and redirects, and which rule judges it.
// Refuses: a command word that is not known before running, or that bash could read as grammar.
import type { Assignment, Command } from 'unbash';
import { refuse, type Span } from './analysis.ts';
import { useAsInteger } from './arithmetic.ts';
import { type Call, known, name, never, type Rule } from './call.ts';
import { ruleFor } from './programs.ts';
import { readRedirect } from './read-redirect.ts';
import { readWord, type ShellWord } from './read-word.ts';
import { quoteCommandWord, RESERVED } from './shell-quote.ts';
import { countCommand, IDENTIFIER, INTEGER, setVariable, type Walk } from './walk.ts';

/** Visits a command node. Gives the names that it surely sets to an integer. */
export function visitCommand(walk: Walk, node: Command): readonly string[] {
  countCommand(walk, node);
  const assigned: ShellWord[] = [];
  for (const item of node.prefix) {
    // `IFS= read -r line`: there it only says how read splits.
    const scratch = item.type === 'Assignment' && item.name === 'IFS' && node.name?.text === 'read';
    if (item.type === 'Assignment') assigned.push(readAssignment(walk, item, !scratch));
    else readRedirect(walk, item);
  }
  const words: ShellWord[] = [];
  if (node.name !== undefined) words.push(readCommandWord(walk, node.name));
  for (const item of node.suffix) {
    if (item.type === 'Word') words.push(readWord(walk, item));
    else if (item.type === 'Assignment') words.push(readAssignment(walk, item, false));
    else readRedirect(walk, item);
  }
  if (words.length > 0) {
    const env = Object.fromEntries(assigned.map((word) => variableOf(word)));
    start({ walk, words, env, via: [], external: false });
    return [];
  }
  for (const word of assigned) {
    const [variable, value] = variableOf(word);
    walk.gathered.assignments.push({ name: variable, value, dynamic: word.literal === undefined });
  }
  return assigned.filter((word) => word.integer).map((word) => variableOf(word)[0]);
}

const MAX_WRAPPERS = 8;

type Started = Pick<Call, 'walk' | 'words' | 'env' | 'via' | 'external'>;

function start(started: Started): void {
  const { walk, words, env, via, external } = started;
  const word = words[0]!;
  if (word.literal === undefined)
    refuse('shell.dynamic', `Cannot know which program ${word.canonical} is: write its name out`, word);
  if (via.length > MAX_WRAPPERS)
    refuse('shell.unparsable', 'Cannot read the command: too many wrappers', word);
  const call: Call = {
    ...started,
    list(inert = false) {
      const dynamic = words.flatMap(({ literal }, index) => (literal === undefined ? [index] : []));
      walk.gathered.commands.push({
        words: words.map(({ literal, canonical }) => literal ?? canonical),
        dynamic,
        canonical: [
          quoteCommandWord(word.literal!),
          ...words.slice(1).map(({ canonical }) => canonical),
        ].join(' '),
        env,
        inert,
        ...(via.length > 0 ? { viaWrapper: via } : {}),
      });
    },
    run(inner, more) {
      countCommand(walk, word);
      start({ walk, words: inner, env, external, via: [...via, name(call)], ...more });
    },
    text(text, dialect) {
      const before = walk.gathered.commands.length;
      walk.text(walk, text.literal!, dialect, text);
      if (walk.gathered.commands.length === before) return call.list();
      // The inner commands are known to be wrapped only now.
      for (const [index, command] of walk.gathered.commands.entries())
        if (index >= before)
          walk.gathered.commands[index] = {
            ...command,
            viaWrapper: [...via, name(call), ...(command.viaWrapper ?? [])],
          };
    },
  };
  const rule = (external ? undefined : BUILTINS.get(word.literal)) ?? ruleFor(word.literal);
  rule(call);
}

function readCommandWord(walk: Walk, node: NonNullable<Command['name']>): ShellWord {
  const word = readWord(walk, node);
  if (word.literal === undefined)
    refuse('shell.dynamic', `Cannot know which program ${word.canonical} is: write its name out`, word);
  if (word.raw.includes("$'") || word.raw.startsWith('%'))
    refuse('shell.dynamic', `Cannot know which program ${word.raw} is: write its name out`, word);
  if (RESERVED.has(word.raw) || /^[A-Za-z_][A-Za-z0-9_]*(?:\[|\+?=)/.test(word.raw.replaceAll('\\\n', '')))
    refuse('shell.unparsable', `Cannot read the command: ${word.raw} is not understood here`, word);
  return word;
}

/** Reads `name=value` as one word whose prefix is `name=`; an assignment of its own is never split. */
function readAssignment(walk: Walk, node: Assignment, own = true): ShellWord {
  const { append, index, value } = node;
  const simple = value.type === 'Word' && !append && index === undefined;
  if (walk.dialect === 'sh' && !simple) notUnderstood(node);
  const head = /^([A-Za-z_][A-Za-z0-9_]*)(?:\[[\s\S]*\])?\+?=/.exec(node.text);
  if (head?.[1] !== node.name || walk.source.slice(node.pos, node.end) !== node.text) notUnderstood(node);
  if (index !== undefined) {
    useAsInteger(walk, index);
    if (!/^\w+\[[^[\]$`"'\\]*\]\+?=|^\w+\[\$\{?\w+\}?\]\+?=/.test(node.text)) notUnderstood(node);
  }
  const word = value.type === 'Word' ? readValue(walk, node, value) : readArray(walk, node, value);
  const integer = simple && (word.integer || INTEGER.test(word.literal ?? ''));
  if (own) setVariable(walk, node.name, node, simple ? word.literal : undefined, integer);
  const written = `${node.name}=`;
  const literal = simple && word.literal !== undefined ? written + word.literal : undefined;
  const splits = own || walk.dialect === 'bash' ? 'no' : word.splits;
  const canonical = written + word.canonical;
  return {
    pos: node.pos,
    end: node.end,
    literal,
    prefix: written + word.prefix,
    splits,
    integer,
    canonical,
    raw: node.text,
  };
}

function readValue(walk: Walk, node: Assignment, value: Assignment['value'] & { type: 'Word' }): ShellWord {
  const word = readWord(walk, value);
  if (!node.text.endsWith(`=${value.text}`)) notUnderstood(node);
  return word;
}

function readArray(
  walk: Walk,
  node: Assignment,
  value: Assignment['value'] & { type: 'ArrayValue' },
): ShellWord {
  const between = (from: number, to: number) => {
    const gap = walk.source.slice(from, to).replaceAll('\\\n', '');
    if (!/^[ \t\n]*$/.test(gap) || (gap === '' && from !== value.pos + 1 && to !== value.end - 1))
      notUnderstood(node);
  };
  let done = value.pos + 1;
  for (const element of value.elements) {
    between(done, element.pos);
    if (element.text.startsWith('['))
      refuse('shell.dynamic', `Cannot know what ${element.text} sets: bash evaluates the subscript`, element);
    readWord(walk, element);
    done = element.end;
  }
  between(done, value.end - 1);
  const { pos, end } = value;
  return {
    pos,
    end,
    literal: undefined,
    prefix: '',
    splits: 'no',
    integer: false,
    canonical: '(…)',
    raw: '',
  };
}

function variableOf(word: ShellWord): [name: string, value: string] {
  const at = word.canonical.indexOf('=');
  return [word.canonical.slice(0, at), word.literal?.slice(at + 1) ?? word.canonical.slice(at + 1)];
}

function notUnderstood(span: Span): never {
  refuse('shell.unparsable', 'Cannot read the command: an assignment in it is not understood', span);
}

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
const BUILTINS: ReadonlyMap<string, Rule> = new Map(
  TABLE.flatMap(([names, rule]) => names.split(' ').map((builtin) => [builtin, rule] as const)),
);
