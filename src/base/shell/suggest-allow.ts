// Owns: the policy line that would admit a command: as narrow as people mean it, and no wider.
// Refuses: to suggest anything for arguments; they differ from call to call.
import type { SimpleCommand } from './analysis.ts';
import { quoteCommandWord, shellQuote } from './shell-quote.ts';

/** A line for `shell_allow`: `- '^cargo test(\s|$)'`. */
export function suggestAllow(command: Pick<SimpleCommand, 'words' | 'dynamic'>): string {
  const { words, dynamic } = command;
  const count = Math.min(depth(words), dynamic[0] ?? words.length);
  const start = words
    .slice(0, count)
    .map((word, index) => (index === 0 ? quoteCommandWord(word) : shellQuote(word)));
  const pattern = `^${start.map(escapeRegExp).join(' ')}(\\s|$)`;
  return `- '${pattern.replaceAll("'", "''")}'`;
}

/** How many words name what is done: `cargo test`, `npm run build`. */
function depth(words: readonly string[]): number {
  const [program = '', second = '', third = ''] = words;
  if (!SUBCOMMANDS.has(program) || !NAME.test(second)) return 1;
  return RUNNERS.has(second) && NAME.test(third) ? 3 : 2;
}

const NAME = /^[a-z][a-z0-9:_-]*$/i;
const SUBCOMMANDS: ReadonlySet<string> = new Set(
  'apt brew bun bundle cargo composer conda deno docker dotnet gem gh git go gradle helm hg just kubectl make mix mvn npm nx pip pip3 pipenv pnpm podman poetry rake rustup svn swift task terraform tox turbo uv yarn zig'.split(
    ' ',
  ),
);
const RUNNERS: ReadonlySet<string> = new Set(['run', 'run-script', 'exec', 'compose', 'tool']);

function escapeRegExp(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}
