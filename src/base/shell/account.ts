// Owns: the check that no character was passed over: what lies between the parts of a node is only that node's grammar.
// Refuses: to trust the parser's positions: a part outside its node or across another is refused.
import { refuse, type Span } from './analysis.ts';

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
