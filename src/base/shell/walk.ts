// Owns: what the walk over a syntax tree carries along, and the check that no character of the line was passed over.
// Refuses: to trust the parser's positions, and words that touch, which bash reads as one.
import { forEachChild, type ParsedScript, type SyntaxNode } from 'unbash';
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

interface FoundRedirect {
  readonly operator: string;
  readonly access: 'read' | 'write' | 'read-write';
  readonly path: string;
  /** How many directory changes stand before it. */
  readonly after: number;
  readonly span: Span;
}

interface DirectoryChange {
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

/** Refuses unless `parts` and the grammar of this kind of node together make up all of `region`. */
export function account(source: string, region: Span, parts: readonly Span[], kind: string): void {
  const grammar = GRAMMARS.get(kind);
  let done = region.pos;
  let afterWord = false;
  const check = (end: number) => {
    // \x01 stands for a word just before: no comment or keyword can start there.
    const between = (afterWord ? '\x01' : '\n') + source.slice(done, end);
    if (end < done || end > region.end || !grammar?.test(between))
      refuse('shell.unparsable', 'Cannot read the command: a part of it is not understood', {
        pos: done,
        end,
      });
  };
  for (const part of parts.toSorted((a, b) => a.pos - b.pos || a.end - b.end)) {
    check(part.pos);
    done = part.end;
    afterWord = source[part.end - 1] !== '\n';
  }
  check(region.end);
}

const BLANK = '[ \\t]|\\\\\\n';
const SPACE = `${BLANK}|\\n|(?<=[\\s;&|()])#[^\\n]*(?=\\n|$)`;

const words = (keywords: string) => `(?<=[\\s;&|()])(?:${keywords})(?=[\\s;&|()\\\\]|$)`;
const gaps = (tokens: string) => new RegExp(`^[\\n\\x01](?:${tokens})*$`);

const GRAMMARS: ReadonlyMap<string, RegExp> = new Map([
  ['Statement', gaps(`${BLANK}|&`)],
  ['Command', gaps(BLANK)],
  ['Redirected', gaps(BLANK)],
  ['Script', gaps(`${SPACE}|[;&]`)],
  ['CompoundList', gaps(`${SPACE}|[;&]`)],
  ['Subshell', gaps(`${SPACE}|[;&]`)],
  ['BraceGroup', gaps(`${SPACE}|[;&]`)],
  ['AndOr', gaps(`${SPACE}|&&|\\|\\|`)],
  ['Pipeline', gaps(`${SPACE}|\\|&?`)],
  ['If', gaps(`${SPACE}|[;&]|${words('if|then|elif|else|fi')}`)],
  ['Elif', gaps(`${SPACE}|[;&]|${words('elif|then')}`)],
  ['While', gaps(`${SPACE}|[;&]|${words('while|until|do|done')}`)],
  ['For', gaps(`${SPACE}|[;&]|${words('for|in|do|done')}`)],
  ['ArithmeticFor', gaps(`${SPACE}|[;&()]|${words('for|do|done')}`)],
  ['Case', gaps(`${SPACE}|[;&]|${words('case|in|esac')}`)],
  ['CaseItem', gaps(`${SPACE}|[;&|()]`)],
  ['TestCommand', /^[\n\x01](?:[ \t\n!()]|\\\n|&&|\|\||\[\[|\]\]|-[a-zA-Z]{1,2}(?=\s)|[=!]=|=~|[=<>])*$/],
  ['arithmetic', /^[\n\x01](?:[ \t\n()+\-*/%<>=!&|^~?:,]|\\\n)*$/],
  ['expansion', /^[\n\x01](?:\$\{|[ }#[\]:/%^,@?=+-])*$/],
]);

/** Checks that the children of a node and its own grammar are all there is in it. */
export function accountForNode(walk: Walk, node: SyntaxNode, region: Span = inside(walk, node)): void {
  if (ELSEWHERE.has(node.type)) return;
  const parts = node.type === 'TestCommand' ? testWords(node) : children(node);
  const among = (doc: Span) => parts.some(({ pos, end }) => pos <= doc.pos && doc.end <= end);
  const own = walk.hereDocs.filter((doc) => region.pos <= doc.pos && doc.end <= region.end && !among(doc));
  account(walk.source, region, [...parts, ...own], node.type);
  if (node.type === 'Command' || node.type === 'For') apart(walk, parts);
}

/** Nodes without parts, and those that arithmetic or a whole [[ … ]] accounts for. */
const ELSEWHERE: ReadonlySet<string> = new Set(
  'Time Negation ArithmeticCommand TestUnary TestBinary TestLogical TestNot TestGroup'.split(' '),
);

/** Words that touch are one word to bash: `cargo<(:)` runs `cargo/dev/fd/63`. */
function apart(walk: Walk, parts: readonly SyntaxNode[]): void {
  for (const [index, part] of parts.entries()) {
    const before = parts[index - 1];
    if (before === undefined || (part.type !== 'Word' && part.type !== 'Assignment')) continue;
    if (walk.source.slice(before.end, part.pos).replaceAll('\\\n', '') === '')
      refuse('shell.unparsable', 'Cannot read the command: put a space before this word', part);
  }
}

/** What lies between the brackets of a group, or all of a node that has none. */
function inside(walk: Walk, node: SyntaxNode): Span {
  const brackets = BRACKETS[node.type];
  if (brackets === undefined) return node;
  if (walk.source[node.pos] !== brackets[0] || walk.source[node.end - 1] !== brackets[1])
    refuse('shell.unparsable', 'Cannot read the command: a group is not understood', node);
  return { pos: node.pos + 1, end: node.end - 1 };
}

const BRACKETS: Readonly<Record<string, string>> = { Subshell: '()', BraceGroup: '{}' };

function children(node: SyntaxNode): SyntaxNode[] {
  const found: SyntaxNode[] = [];
  forEachChild(node, (child) => void found.push(child));
  return found;
}

/** The words of a test expression, however deep. */
function testWords(node: SyntaxNode): SyntaxNode[] {
  if (node.type === 'Word') return [node];
  return children(node).flatMap((child) => (child.type === 'Negation' ? [] : testWords(child)));
}
