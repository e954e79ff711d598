// Owns: which parameter expansions are only text, and visiting the words inside them.
// Refuses: those that evaluate a value a second time: ${!x}, ${x@P}, subscripts and offsets that are not numbers.
import type { ParameterExpansionPart, ParameterOperation, Word } from 'unbash';
import { account } from './account.ts';
import { refuse, type Span } from './analysis.ts';
import { useAsInteger } from './arithmetic.ts';
import { IDENTIFIER, setVariable, type Walk } from './walk.ts';

type Visit = (walk: Walk, word: Word) => void;

/** Visits the expansion and gives its canonical text. */
export function visitParameter(walk: Walk, part: ParameterExpansionPart, visit: Visit): string {
  const { parameter, prefix, index, operation } = part;
  if (!IDENTIFIER.test(parameter) && !/^(?:[0-9]+|[@*#?$!_-])$/.test(parameter)) tooDynamic(part);
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
    for (const word of (OPERATIONS[operation.type] ?? tooDynamic)(walk, operation as never, part)) {
      if (word.text.includes("'") && /[$`]/.test(word.text)) tooDynamic(word);
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
  Transform: (_walk, { operand }) => (/^[UuLQEaK]$/.test(operand.text) ? [operand] : tooDynamic(operand)),
};

const SH_OPERATIONS: ReadonlySet<string> = new Set(['Default', 'Remove']);

function posixOnly(walk: Walk, part: ParameterExpansionPart): void {
  if (walk.dialect === 'sh')
    refuse('shell.dynamic', `Cannot know how sh reads ${part.text}: it is bash syntax; use bash -c`, part);
}

function tooDynamic(...args: readonly unknown[]): never {
  const part = args.at(-1) as Span & { readonly text: string };
  refuse('shell.dynamic', `Cannot know what ${part.text} does: it evaluates a value a second time`, part);
}
