// Owns: the walk over a bash syntax tree: a table of the node types that are known, and what each would run.
// Refuses: every node type that is not in the table, every parse error, and nesting without end.
import { type ParsedScript, parse, type Statement, type SyntaxNode } from 'unbash';
import { isRefusal, refuse, type ShellListing, type Span } from './analysis.ts';
import { namesSet, useAsInteger, visitExpression } from './arithmetic.ts';
import { readRedirect, resolveRedirects } from './read-redirect.ts';
import { readWord, visitWord } from './read-word.ts';
import { visitCommand } from './run-command.ts';
import type { Dialect, Gathered, Walk } from './walk.ts';
import { accountForNode, countCommand, IDENTIFIER, INTEGER, setVariable, within } from './walk.ts';

const MAX_DEPTH = 64;

/** Lists what the source would run, or throws a refusal. */
export function listCommands(source: string): ShellListing {
  const gathered: Gathered = {
    commands: [],
    redirects: [],
    assignments: [],
    directories: [],
    texts: new Set(),
    evaluated: [],
    loops: 0,
    counted: 0,
  };
  const walk: Walk = {
    source,
    dialect: 'bash',
    depth: 0,
    integers: new Set(),
    hereDocs: [],
    gathered,
    nested,
    text,
  };
  visitScript(walk, parse(source), { pos: 0, end: source.length });
  for (const { name, span } of gathered.evaluated)
    if (gathered.texts.has(name))
      refuse(
        'shell.dynamic',
        `Cannot know what ${name} holds: in arithmetic bash evaluates it, and it is set to text`,
        span,
      );
  return {
    ok: true,
    commands: gathered.commands,
    redirects: resolveRedirects(gathered),
    assignments: gathered.assignments,
  };
}

/** True when the script holds a here-document. */
function visitScript(walk: Walk, script: ParsedScript, region: Span): boolean {
  checkDepth(walk, region);
  const error = script.errors?.[0];
  if (error !== undefined)
    refuse('shell.unparsable', `Cannot read the command: ${error.message}`, {
      pos: error.pos,
      end: region.end,
    });
  const inner: Walk = { ...walk, hereDocs: [] };
  visitList(inner, script.commands);
  accountForNode(inner, script, region);
  return inner.hereDocs.length > 0;
}

/** One statement that holds no compound command. */
function isSimple({ commands }: ParsedScript): boolean {
  const parts = (node: SyntaxNode): boolean => {
    if (node.type === 'Command') return true;
    return (node.type === 'Pipeline' || node.type === 'AndOr') && node.commands.every(parts);
  };
  return commands.length === 1 && parts(commands[0]!.command);
}

/** Bash 5.2 prints and re-reads substitutions, and loses the `;` after a here-document: `a; b` becomes `a b`. */
function afterHereDoc(region: Span): never {
  const message = 'Cannot know how bash reads this: a here-document inside $(…) must be in its only command';
  refuse('shell.dynamic', message, region);
}

function nested(walk: Walk, script: ParsedScript | undefined, region: Span): void {
  if (script === undefined)
    refuse('shell.unparsable', 'Cannot read the command: a substitution is not understood', region);
  const inner = { ...within(walk), depth: walk.depth + 1 };
  if (script.source === undefined) {
    if (visitScript(inner, script, region) && !isSimple(script)) afterHereDoc(region);
    return;
  }
  // Escaped backquotes: the script is read from text of its own.
  const written = walk.source.slice(region.pos, region.end).replace(/\\([$`\\])/g, '$1');
  if (written !== script.source)
    refuse('shell.unparsable', 'Cannot read the command: write `…` as $(…)', region);
  placedAt(region, () => {
    const whole = { pos: 0, end: script.source!.length };
    if (visitScript({ ...inner, source: script.source! }, script, whole) && !isSimple(script))
      afterHereDoc(whole);
  });
}

function text(walk: Walk, source: string, dialect: Dialect, span: Span): void {
  placedAt(span, () => {
    const inner = { ...walk, source, dialect, depth: walk.depth + 1, integers: new Set<string>() };
    visitScript(inner, parse(source), { pos: 0, end: source.length });
  });
}

/** Refusals inside carry spans of another source: they are placed at the word that holds it. */
function placedAt(span: Span, visit: () => void): void {
  try {
    visit();
  } catch (error) {
    if (isRefusal(error)) refuse(error.refusal.reason, error.message, span);
    throw error;
  }
}

/** Statements in order: what one surely sets is known to those after it. */
function visitList(walk: Walk, statements: readonly Statement[]): void {
  const integers = new Set(walk.integers);
  for (const statement of statements) {
    const { command, background } = statement;
    const here = { ...walk, integers: new Set(integers) };
    if (command.type === 'Command') {
      const set = visitCommand(here, command);
      if (!background) for (const name of set) integers.add(name);
      accountForNode(here, command);
    } else visit(here, command);
    accountForNode(here, statement);
  }
}

type Node = Exclude<SyntaxNode, { type: 'Script' }>;
type Visitors = { readonly [K in Node['type']]?: (walk: Walk, node: Extract<Node, { type: K }>) => void };

function visit(walk: Walk, node: Node): void {
  checkDepth(walk, node);
  const visitor = NODES[node.type] as ((walk: Walk, node: Node) => void) | undefined;
  if (visitor === undefined)
    refuse(
      'shell.dynamic',
      `Cannot run ${KINDS[node.type] ?? 'this construct'}: write the commands out`,
      node,
    );
  if (walk.dialect === 'sh' && BASH_ONLY.has(node.type))
    refuse('shell.dynamic', 'Cannot know how sh reads this: it is bash syntax; use bash -c', node);
  if (COUNTED.has(node.type)) countCommand(walk, node);
  visitor({ ...walk, depth: walk.depth + 1 }, node);
  accountForNode(walk, node);
}

function checkDepth(walk: Walk, span: Span): void {
  if (walk.depth > MAX_DEPTH)
    refuse('shell.unparsable', 'Cannot read the command: it is nested too deep', span);
}

const KINDS: Readonly<Record<string, string>> = {
  Function: 'a function definition',
  Coproc: 'a coprocess',
  Select: 'a select loop',
};
const BASH_ONLY: ReadonlySet<string> = new Set(['TestCommand', 'ArithmeticCommand', 'ArithmeticFor', 'Time']);

/** Commands beside the simple ones, which visitCommand counts. */
const COUNTED: ReadonlySet<string> = new Set(['TestCommand', 'ArithmeticCommand', 'Subshell', 'BraceGroup']);

/** Every node type that is walked. Function, Coproc and Select are left out on purpose. */
const NODES: Visitors = {
  Command: (walk, node) => void visitCommand(walk, node),
  CompoundList: (walk, node) => visitList(walk, node.commands),
  Subshell: (walk, node) => visit(walk, node.body),
  BraceGroup: (walk, node) => visit(walk, node.body),
  AndOr(walk, node) {
    for (const command of node.commands) visit(walk, command);
  },
  Pipeline(walk, node) {
    for (const prefix of node.prefixes) visit(walk, prefix);
    if (walk.dialect === 'sh' && node.operators.includes('|&'))
      refuse('shell.dynamic', 'Cannot know how sh reads |&: use 2>&1 |', node);
    for (const command of node.commands) visit(walk, command);
  },
  Time() {},
  Negation() {},
  Redirected(walk, node) {
    visit(walk, node.command);
    for (const redirect of node.redirects) readRedirect(walk, redirect);
  },
  If(walk, node) {
    for (const list of [node.clause, node.then]) visit(walk, list);
    for (const branch of node.elif) visit(walk, branch);
    if (node.else !== undefined) visit(walk, node.else);
  },
  Elif(walk, node) {
    for (const list of [node.clause, node.then]) visit(walk, list);
  },
  While: (walk, node) => loop(walk, () => [node.clause, node.body].forEach((list) => void visit(walk, list))),
  For(walk, node) {
    const { value: name } = node.name;
    if (!IDENTIFIER.test(name) || node.name.text !== name)
      refuse('shell.unparsable', 'Cannot read the loop', node.name);
    const words = (node.wordlist ?? []).map((word) => readWord(walk, word));
    const integer = words.length > 0 && words.every(({ literal }) => INTEGER.test(literal ?? ''));
    setVariable(walk, name, node.name, undefined, integer);
    loop(walk, () => visit(within(walk, integer ? [name] : []), node.body));
  },
  ArithmeticFor(walk, node) {
    const { initialize, test, update } = node;
    if (initialize !== undefined) visitExpression(walk, initialize, initialize);
    const inner = within(walk, namesSet(initialize));
    for (const each of [test, update]) if (each !== undefined) visitExpression(inner, each, each);
    loop(walk, () => visit(inner, node.body));
  },
  ArithmeticCommand(walk, node) {
    const { pos, end } = node;
    if (!/^\(\([\s\S]*\)\)$/.test(walk.source.slice(pos, end)))
      refuse('shell.unparsable', 'Cannot read (( … ))', node);
    visitExpression(walk, node.expression, { pos: pos + 2, end: end - 2 });
  },
  Case(walk, node) {
    readWord(walk, node.word);
    for (const item of node.items) visit(walk, item);
  },
  CaseItem(walk, node) {
    for (const pattern of node.pattern) visitWord(walk, pattern);
    if (walk.dialect === 'sh' && node.terminator !== undefined && node.terminator !== ';;')
      refuse('shell.dynamic', `Cannot know how sh reads ${node.terminator}`, node);
    visit(walk, node.body);
  },
  TestCommand: (walk, node) => visit(walk, node.expression),
  TestUnary(walk, node) {
    if (node.operator === '-v' || node.operator === '-R')
      refuse(
        'shell.dynamic',
        `Cannot run [[ ${node.operator}: it evaluates what follows; use -n "\${x-}"`,
        node,
      );
    visitWord(walk, node.operand);
  },
  TestBinary(walk, node) {
    for (const side of [node.left, node.right]) {
      visitWord(walk, side);
      if (/^-(?:eq|ne|lt|le|gt|ge)$/.test(node.operator)) useAsInteger(walk, side);
    }
  },
  TestLogical(walk, node) {
    for (const each of node.operands) visit(walk, each);
  },
  TestNot: (walk, node) => visit(walk, node.operand),
  TestGroup: (walk, node) => visit(walk, node.expression),
};

function loop(walk: Walk, visitBody: () => void): void {
  walk.gathered.loops++;
  visitBody();
  walk.gathered.loops--;
}
