// Owns: one simple command: its words, assignments and redirects, and which rule judges it.
// Refuses: a command word that is not known before running, or that bash could read as grammar.
import type { Assignment, Command } from 'unbash';
import { refuse, type Span } from './analysis.ts';
import { useAsInteger } from './arithmetic.ts';
import { BUILTINS } from './builtins.ts';
import { type Call, name } from './call.ts';
import { ruleFor } from './programs.ts';
import { readRedirect } from './read-redirect.ts';
import { readWord, type ShellWord } from './read-word.ts';
import { quoteCommandWord, RESERVED } from './shell-quote.ts';
import { countCommand, INTEGER, setVariable, type Walk } from './walk.ts';

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
