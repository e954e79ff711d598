// Owns: what the walk over one syntax tree carries with it, and what it gathers.
// Refuses: to know any node type; read-word, arithmetic and list-commands do.
import type { ParsedScript } from 'unbash';
import { refuse, type SimpleCommand, type Span } from './analysis.ts';
import { variableRisk } from './risky-variables.ts';

/** `sh` is what dash, ash and bash agree on: text given to `sh -c` may be read by any of them. */
export type Dialect = 'bash' | 'sh';

export interface Walk {
  /** What the spans of the nodes at hand index. */
  readonly source: string;
  readonly dialect: Dialect;
  /** How many scripts lie around this one. */
  readonly depth: number;
  /** Names that surely hold an integer here, whatever the environment holds. */
  readonly integers: ReadonlySet<string>;
  /** Where here-documents of the current script lie: inside other nodes, and part of none. */
  readonly hereDocs: Span[];
  readonly gathered: Gathered;
  /** Walks the script of a substitution that fills `region` of the current source. */
  readonly nested: (walk: Walk, script: ParsedScript | undefined, region: Span) => void;
  /** Walks text that another shell will be given; refusals are placed at `span`. */
  readonly text: (walk: Walk, text: string, dialect: Dialect, span: Span) => void;
}

/** The one thing that is written to while walking. */
export interface Gathered {
  readonly commands: SimpleCommand[];
  readonly redirects: FoundRedirect[];
  readonly assignments: { name: string; value: string; dynamic: boolean }[];
  readonly directories: DirectoryChange[];
  /** Names that something other than an integer is put into, anywhere. */
  readonly texts: Set<string>;
  /** Names whose value is evaluated as arithmetic, which runs commands if it is more than a number. */
  readonly evaluated: { name: string; span: Span }[];
  /** How many loops are open. */
  loops: number;
  /** How many commands were found so far: simple ones, tests and sums. */
  counted: number;
}

const MAX_COMMANDS = 1000;

/** Counts one more command, wherever it stands: in a list, a pipeline, a substitution, behind a wrapper. */
export function countCommand({ gathered }: Walk, span: Span): void {
  if (++gathered.counted > MAX_COMMANDS)
    refuse('shell.unparsable', `Cannot read the command: it holds over ${MAX_COMMANDS} commands`, span);
}

export interface FoundRedirect {
  readonly operator: string;
  readonly access: 'read' | 'write' | 'read-write';
  readonly path: string;
  /** How many directory changes stand before it. */
  readonly after: number;
  readonly span: Span;
}

export interface DirectoryChange {
  /** Undefined when that is only known while running. */
  readonly to: string | undefined;
  readonly loop: boolean;
}

export const IDENTIFIER = /^[A-Za-z_][A-Za-z0-9_]*$/;
export const INTEGER = /^-?[0-9]{1,18}$/;

/** Notes that the line puts a value into this variable. */
export function setVariable(
  walk: Walk,
  name: string,
  span: Span,
  value: string | undefined,
  integer = false,
): void {
  const risk = variableRisk(name, value);
  if (risk !== undefined) refuse('shell.dynamic', `Cannot set ${name}: ${risk}`, span);
  if (!integer && !INTEGER.test(value ?? 'unknown')) walk.gathered.texts.add(name);
}

/** A walk one level further in, which sees what is known here but cannot add to it. */
export function within(walk: Walk, integers: Iterable<string> = []): Walk {
  return { ...walk, integers: new Set([...walk.integers, ...integers]) };
}
