// Owns: turning a word of the syntax tree into what is known of its value, visiting every substitution inside.
// Refuses: a part that is not in the table below, expansions that evaluate a value twice, and text that reads otherwise by the rules here than by the parser's.
import type { DoubleQuotedChild, ParameterExpansionPart, ParameterOperation, Word, WordPart } from 'unbash';
import { refuse, type Span } from './analysis.ts';
import { useAsInteger, visitArithmetic } from './arithmetic.ts';
import { shellQuote } from './shell-quote.ts';
import { account, IDENTIFIER, setVariable, type Walk } from './walk.ts';

export interface ShellWord extends Span {
  /** The value, where it is known before running. */
  readonly literal: string | undefined;
  /** What the value surely starts with. */
  readonly prefix: string;
  /** Whether it stays one word: `files` may become several that all start with `prefix`, `free` any number of any words. */
  readonly splits: 'no' | 'files' | 'free';
  /** Surely an integer or empty: `$?`, `$#`, `$((…))`. */
  readonly integer: boolean;
  readonly canonical: string;
  /** As written. */
  readonly raw: string;
}

/** Reads a word whose value matters: of a command, a redirect or an assignment. */
export function readWord(walk: Walk, word: Word): ShellWord {
  const state: State = { value: '', known: true, prefix: '', splits: 'no', canonical: '', run: '', last: '' };
  for (const part of partsOf(word)) {
    (PARTS[part.type] ?? unknownPart)(walk, part as never, state, word);
    state.last = part.text;
  }
  flush(state);
  const literal = state.known ? state.value : undefined;
  return {
    pos: word.pos,
    end: word.end,
    literal,
    prefix: state.known ? state.value : state.prefix,
    splits: state.splits,
    integer: isInteger(walk, word),
    canonical: literal === undefined ? state.canonical : shellQuote(literal),
    raw: word.text,
  };
}

/** Visits a word whose value does not matter, only what it would run: a pattern, an operand, a here-document. */
export function visitParts(walk: Walk, parts: readonly WordPart[], text: string, span: Span): void {
  if (parts.map((part) => part.text).join('') !== text) misread(span);
  for (const [index, part] of parts.entries()) {
    if (part.type === 'Literal') {
      const open = part.text.endsWith('$') && index < parts.length - 1;
      if (open || !startsNothing(part.text)) misread(part);
    } else if (part.type === 'Glob' || part.type === 'BraceExpansion') {
      if (!startsNothing(part.text)) tooDynamic(part);
    } else {
      const scratch: State = {
        value: '',
        known: true,
        prefix: '',
        splits: 'no',
        canonical: '',
        run: '',
        last: '',
      };
      (PARTS[part.type] ?? unknownPart)(walk, part as never, scratch, { text, ...span });
    }
  }
}

export function visitWord(walk: Walk, word: Word): void {
  visitParts(walk, partsOf(word), word.text, word);
}

interface State {
  value: string;
  known: boolean;
  prefix: string;
  splits: ShellWord['splits'];
  canonical: string;
  /** Literal characters not yet written to `canonical`. */
  run: string;
  last: string;
}

type Around = Span & { readonly text: string };
type Reader<T> = (walk: Walk, part: T, state: State, word: Around) => void;
type Readers = { readonly [K in WordPart['type']]?: Reader<Extract<WordPart, { type: K }>> };

const PARTS: Readers = {
  Literal(_walk, part, state, word) {
    const value = bareValue(part.text);
    if (value === undefined || value !== part.value) misread(part);
    // Braces are expanded first and could complete a lone dollar: {$,}{x@P} becomes ${x@P}.
    const dollar = part.text.replace(/\\[\s\S]/g, '').lastIndexOf('$');
    if (dollar >= 0 && (word.text.includes('{') || (part.text.endsWith('$') && part.end !== word.end)))
      tooDynamic(part);
    const wide = widening(part.text, state.last === '');
    if (wide === 'none') return literal(state, value);
    // What a leading tilde becomes is an absolute path.
    const prefix = wide === 'tilde' && state.last === '' && part.text.startsWith('~') ? '/' : '';
    unknown(state, visible(part.text), wide === 'files' ? 'files' : 'no', prefix);
  },
  SingleQuoted(_walk, part, state) {
    const value = singleQuotedValue(part.text);
    if (value === undefined || value !== part.value) misread(part);
    literal(state, value);
  },
  DoubleQuoted(walk, part, state) {
    const inner = part.parts.map((child) => child.text).join('');
    if (part.text !== `"${inner}"`) misread(part);
    for (const [index, child] of part.parts.entries())
      readQuoted(walk, child, index === part.parts.length - 1, state);
  },
  AnsiCQuoted(walk, part, state) {
    bashOnly(walk, part);
    const value = ansiCValue(part.text);
    if (value === undefined || value !== part.value)
      refuse('shell.dynamic', `Cannot know what ${part.text} stands for: use plain quotes`, part);
    literal(state, value);
  },
  SimpleExpansion(_walk, part, state) {
    unknown(state, part.text, 'free');
  },
  ParameterExpansion(walk, part, state) {
    unknown(state, visitParameter(walk, part, visitWord), 'free');
  },
  CommandExpansion(walk, part, state) {
    substitution(walk, part);
    unknown(state, '$(…)', 'free');
  },
  ArithmeticExpansion(walk, part, state) {
    visitArithmetic(walk, part);
    unknown(state, '$((…))', 'free');
  },
  ProcessSubstitution(walk, part, state, word) {
    bashOnly(walk, part);
    if (!/^[<>]\([\s\S]*\)$/.test(part.text)) misread(part);
    // It must be a word of its own: bash glues it to what it touches, across a continued line too.
    const around = [
      walk.source.slice(Math.max(0, part.pos - 2), part.pos),
      walk.source.slice(part.end, part.end + 1),
    ];
    const open = /(?:^|[\s;&|()<>=])$/.test(around[0]!) && around[0] !== '\\\n';
    if (part.text !== word.text || !open || !/^[\s;&|()<>]?$/.test(around[1]!)) misread(part);
    walk.nested(walk, part.script, { pos: part.pos + 2, end: part.end - 1 });
    unknown(state, `${part.operator}(…)`, 'no', '/dev/fd/');
  },
  Glob(_walk, part, state) {
    if (!startsNothing(part.text)) tooDynamic(part);
    unknown(state, visible(part.text), 'files');
  },
  BraceExpansion(walk, part, state) {
    bashOnly(walk, part);
    if (!/^[A-Za-z0-9_.,/{}:@%+=-]*$/.test(part.text)) tooDynamic(part);
    unknown(state, part.text, 'files');
  },
};

function readQuoted(walk: Walk, part: DoubleQuotedChild, last: boolean, state: State): void {
  if (part.type === 'Literal') {
    const value = quotedValue(part.text);
    if (value === undefined || value !== part.value) misread(part);
    if (!last && part.text.endsWith('$')) misread(part);
    return literal(state, value);
  }
  const scratch: State = { ...state, canonical: '', run: '' };
  (PARTS[part.type] ?? unknownPart)(walk, part as never, scratch, part);
  const many = /^\$(?:@|\{@|\{[A-Za-z0-9_]+\[@\])/.test(part.text);
  unknown(state, `"${scratch.canonical}"`, many ? 'free' : 'no');
}

function substitution(walk: Walk, part: Around & { readonly script: Parameters<Walk['nested']>[1] }): void {
  const open = part.text.startsWith('$(') ? 2 : 1;
  const close = open === 2 ? ')' : '`';
  if (open === 1 && !part.text.startsWith('`'))
    refuse('shell.dynamic', 'Cannot know what would run: write the substitution as $(…)', part);
  if (part.text.length <= open || !part.text.endsWith(close)) misread(part);
  // There bash joins lines even inside single quotes.
  if (open === 1 && part.text.includes('\\\n'))
    refuse('shell.dynamic', 'Cannot know how bash joins the lines inside `…`: write it as $(…)', part);
  walk.nested(walk, part.script, { pos: part.pos + open, end: part.end - 1 });
}

function partsOf(word: Word): readonly WordPart[] {
  const { text, value, pos, end } = word;
  const parts = word.parts ?? [{ type: 'Literal', text, value, pos, end } as const];
  if (parts.map((part) => part.text).join('') !== text) misread(word);
  return parts;
}

/** `$?`, `$#`, `$((…))` and names that surely hold an integer. */
function isInteger(walk: Walk, word: Word): boolean {
  const part = word.parts?.length === 1 ? word.parts[0] : undefined;
  if (part?.type === 'ArithmeticExpansion') return true;
  const name = part?.type === 'SimpleExpansion' ? part.text.slice(1) : undefined;
  return name !== undefined && (['?', '#', '$', '!'].includes(name) || walk.integers.has(name));
}

function literal(state: State, value: string): void {
  state.value += value;
  state.run += value;
  if (state.known) state.prefix += value;
}

function unknown(state: State, canonical: string, splits: ShellWord['splits'], prefix = ''): void {
  flush(state);
  if (state.known) state.prefix += prefix;
  state.known = false;
  state.canonical += canonical;
  if (state.splits !== 'free' && splits !== 'no') state.splits = splits;
}

function flush(state: State): void {
  if (state.run !== '') state.canonical += shellQuote(state.run);
  state.run = '';
}

function visible(text: string): string {
  return /^[\x21-\x7e]+$/.test(text) ? text : '…';
}

function bashOnly(walk: Walk, span: Around): void {
  if (walk.dialect === 'sh')
    refuse('shell.dynamic', `Cannot know how sh reads ${span.text}: it is bash syntax; use bash -c`, span);
}

function unknownPart(_walk: Walk, part: Around & { readonly type: string }): never {
  refuse('shell.dynamic', `Cannot know what ${visible(part.text)} stands for`, part);
}

function tooDynamic(part: Around): never {
  refuse('shell.dynamic', `Cannot know what ${visible(part.text)} becomes before it runs`, part);
}

function misread(span: Span): never {
  refuse('shell.unparsable', 'Cannot read the command: a word in it is not understood', span);
}

// In each a `$` is let through only where it starts no expansion.
const BARE = /^(?:\\[\s\S]|\$(?![A-Za-z0-9_({@*#?$![\\'"`-])|[^\s;|&<>()$`"'\\])*$/;
const QUOTED = /^(?:\\[\s\S]|\$(?![A-Za-z0-9_({@*#?$![\\-])|[^"$`\\])*$/;
const LOOSE = /^(?:\\[\s\S]|\$(?![A-Za-z0-9_({@*#?$![\\-])|[^$`\\])*$/;

/** The value of unquoted text without expansions, or undefined where it is more than that. */
function bareValue(text: string): string | undefined {
  return BARE.test(text)
    ? text.replace(/\\([\s\S])/g, (_, char: string) => (char === '\n' ? '' : char))
    : undefined;
}

/** The value of text between double quotes without expansions, or undefined where it is more than that. */
function quotedValue(text: string): string | undefined {
  if (!QUOTED.test(text)) return undefined;
  return text.replace(/\\([$`"\\\n])/g, (_, char: string) => (char === '\n' ? '' : char));
}

/** The value of text between single quotes, quotes included in `text`. */
function singleQuotedValue(text: string): string | undefined {
  return /^'[^']*'$/.test(text) ? text.slice(1, -1) : undefined;
}

/** The value of `$'…'` where only the well-known escapes are used. */
function ansiCValue(text: string): string | undefined {
  if (!/^\$'(?:\\[ntr\\'"]|[^'\\])*'$/.test(text)) return undefined;
  return text.slice(2, -1).replace(/\\(.)/g, (_, char: string) => ESCAPES[char] ?? char);
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r' };

/** True when text of a pattern, an operand or a here-document starts no expansion. */
function startsNothing(text: string): boolean {
  return LOOSE.test(text);
}

type Widening = 'none' | 'files' | 'tilde';

/** What bash makes of the unescaped special characters in bare text: file names, a home folder, or nothing. */
function widening(text: string, startsWord: boolean): Widening {
  const bare = text.replace(/\\[\s\S]/g, '');
  if ((startsWord && text.startsWith('~')) || /[=:]~/.test(bare)) return 'tilde';
  if (/[*?]/.test(bare) || between(bare, '[', ']') !== undefined) return 'files';
  return /,|\.\./.test(between(bare, '{', '}') ?? '') ? 'files' : 'none';
}

/** What lies between the first opening and the last closing bracket. By index: a pattern would backtrack. */
function between(text: string, open: string, close: string): string | undefined {
  const [start, end] = [text.indexOf(open), text.lastIndexOf(close)];
  return start >= 0 && end > start ? text.slice(start + 1, end) : undefined;
}

type Visit = (walk: Walk, word: Word) => void;

/** Visits the expansion and gives its canonical text. */
function visitParameter(walk: Walk, part: ParameterExpansionPart, visit: Visit): string {
  const { parameter, prefix, index, operation } = part;
  if (!IDENTIFIER.test(parameter) && !/^(?:[0-9]+|[@*#?$!_-])$/.test(parameter)) evaluatesTwice(part);
  if (prefix === '!')
    refuse('shell.dynamic', `Cannot know what ${part.text} refers to: name the variable`, part);
  const pieces: Span[] = [{ pos: part.parameterPos, end: part.parameterEnd }];
  if (index !== undefined) {
    posixOnly(walk, part);
    if (index.text !== '@' && index.text !== '*') useAsInteger(walk, index);
    pieces.push(index);
  }
  if (operation !== undefined) {
    if (walk.dialect === 'sh' && !SH_OPERATIONS.has(operation.type)) posixOnly(walk, part);
    for (const word of (OPERATIONS[operation.type] ?? evaluatesTwice)(walk, operation as never, part)) {
      if (word.text.includes("'") && /[$`]/.test(word.text)) evaluatesTwice(word);
      // Inside "…" bash pairs the quotes of an operand, and dash does not.
      if (walk.dialect === 'sh' && /['"\\`{}()]/.test(word.text)) posixOnly(walk, part);
      visit(walk, word);
      pieces.push(word);
    }
  }
  account(walk.source, part, pieces, 'expansion');
  return operation === undefined && prefix === undefined && index === undefined
    ? `\${${parameter}}`
    : `\${${parameter}…}`;
}

type Operations = {
  readonly [K in ParameterOperation['type']]?: (
    walk: Walk,
    operation: Extract<ParameterOperation, { type: K }>,
    part: ParameterExpansionPart,
  ) => readonly Word[];
};

/** The words of each operation that are visited; a type that is not here is refused. */
const OPERATIONS: Operations = {
  Default(walk, { operator, operand }, part) {
    if (operator.endsWith('=')) setVariable(walk, part.parameter, part, undefined);
    return [operand];
  },
  Remove: (_walk, { operand }) => [operand],
  Replace: (_walk, { pattern, replacement }) => [pattern, replacement],
  Slice(walk, { offset, length }) {
    const words = length === undefined ? [offset] : [offset, length];
    for (const word of words) useAsInteger(walk, word);
    return words;
  },
  CaseModification: (_walk, { operand }) => (operand === undefined ? [] : [operand]),
  Transform: (_walk, { operand }) => (/^[UuLQEaK]$/.test(operand.text) ? [operand] : evaluatesTwice(operand)),
};

const SH_OPERATIONS: ReadonlySet<string> = new Set(['Default', 'Remove']);

function posixOnly(walk: Walk, part: ParameterExpansionPart): void {
  if (walk.dialect === 'sh')
    refuse('shell.dynamic', `Cannot know how sh reads ${part.text}: it is bash syntax; use bash -c`, part);
}

function evaluatesTwice(...args: readonly unknown[]): never {
  const part = args.at(-1) as Span & { readonly text: string };
  refuse('shell.dynamic', `Cannot know what ${part.text} does: it evaluates a value a second time`, part);
}
