// Owns: what the parts of each kind of node are, so that all that lies between them can be accounted for.
// Refuses: words that touch, which bash reads as one.
import { forEachChild, type SyntaxNode } from 'unbash';
import { account } from './account.ts';
import { refuse, type Span } from './analysis.ts';
import type { Walk } from './walk.ts';

/** Checks that the children of a node and its own grammar are all there is in it. */
export function accountForNode(walk: Walk, node: SyntaxNode, region: Span = inside(walk, node)): void {
  if (ELSEWHERE.has(node.type)) return;
  const parts = node.type === 'TestCommand' ? words(node) : children(node);
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
function words(node: SyntaxNode): SyntaxNode[] {
  if (node.type === 'Word') return [node];
  return children(node).flatMap((child) => (child.type === 'Negation' ? [] : words(child)));
}
