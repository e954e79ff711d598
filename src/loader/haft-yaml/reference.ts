// Owns: the reference page of haft.yaml, written from the table.
// Refuses: keys and defaults of its own; what the page says about them is what the loader checks.
import { expected } from './check-shape.ts';
import { HAFT_YAML } from './haft-yaml-shape.ts';
import type { MapShape, Shape } from './shape.ts';

/** Markdown. */
export function renderHaftYamlReference(): string {
  return [INTRODUCTION, ...sections(), DECISIONS, EXAMPLE].join('\n\n').concat('\n');
}

function sections(): string[] {
  return Object.entries(HAFT_YAML.keys).map(([key, shape]) => {
    const rows = rowsOf(key, shape);
    const facts = rows.length > 0 ? '' : `\n\n${capital(expected(shape))}.${defaultOf(shape)}`;
    const table = rows.length > 0 ? `\n\n${HEAD}\n${rows.join('\n')}` : '';
    return `## \`${key}\`\n\n${shape.doc}${required(HAFT_YAML, key) ? ' Required.' : ''}${facts}${table}`;
  });
}

const HEAD = '| key | value | default | meaning |\n|---|---|---|---|';

/** One row for each key below this one. */
function rowsOf(path: string, shape: Shape): string[] {
  if (shape.is === 'list') return [...listRow(path, shape), ...rowsOf(`${path}[]`, shape.item)];
  if (shape.is === 'shorthand') return rowsOf(path, shape.map);
  if (shape.is !== 'map') return [];
  return Object.entries(shape.keys).flatMap(([key, inner]) => {
    const where = `${path}.${key}`;
    const fallback = inner.default ?? (required(shape, key) ? 'required' : '–');
    const row = `| \`${where}\` | ${cell(expected(inner))} | ${cell(fallback)} | ${cell(inner.doc)} |`;
    return [row, ...rowsOf(where, inner)];
  });
}

/** A list at the top has no row of its own; its entries do. */
function listRow(path: string, { item }: Shape & { is: 'list' }): string[] {
  const plain = item.is === 'text' || item.is === 'shorthand';
  return plain ? [`| \`${path}[]\` | ${cell(expected(item))} | – | ${cell(item.doc)} |`] : [];
}

const required = (shape: MapShape, key: string): boolean => shape.required?.includes(key) ?? false;
const defaultOf = (shape: Shape): string => (shape.default ? ` Default: ${shape.default}.` : '');
const cell = (text: string): string => text.replaceAll('|', '\\|');
const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

const INTRODUCTION = `# haft.yaml

What a workspace grants to tools. Without the file tools may read and write in the workspace; there is no
network, no shell and no push. The file is read-only to tools.

Every problem is told at once, with line, column and what to type instead; a file with any error refuses start-up.
\`haft policy check\` shows the same without starting anything.`;

const DECISIONS = `## How rules decide

- Of all the rules that match a call the **strictest** wins, whatever their order: \`deny\` before \`ask\` before \`allow\`.
  A rule that can never have a say is pointed out.
- A call is decided over its tool and everything that it would touch. What none of the rules names falls to the default.
- Path globs are relative to the workspace: \`*\` and \`?\` stay within a name, \`**\` spans folders, \`[a-z]\` and \`{a,b}\` work as
  usual, and names that begin with a dot are matched like any other. A glob whose last part has no wildcard also holds for
  everything below it. One that begins with \`/\` is about a folder of \`paths.extra_roots\`; one that begins with \`**\` about both.
- Protected whatever the rules say: \`.haft\` is neither read nor written; \`haft.yaml\`, \`haft.lock\` and pack folders are not
  written; \`.git\` is written only by git tools, its \`hooks\` and \`config\` by none.
- A call that would write a whole folder is denied where a rule denies something that it names in there. A rule whose \`**\`
  could lead anywhere is held against each file as it is touched. Listings and searches leave out what may not be read.
- Patterns of \`shell_allow\` are linear-time regular expressions without look-around, matched anywhere in the canonical
  command unless they begin with \`^\`. Write them in single quotes: in double quotes a backslash means something else to YAML.
- A rule's \`examples\` are decided whenever the file is loaded, together with all the other rules of its list. One that does
  not come out as it says is an error.`;

const EXAMPLE = `## Example

\`\`\`yaml
version: 1

network:
  allowed_domains: [doc.rust-lang.org, crates.io]

shell_allow:
  - '^cargo(\\s|$)'
  - pattern: '^git push(\\s|$)'
    decision: ask

paths:
  rules:
    - path: '**/.env'
      read: deny
      write: deny
      examples:
        deny: [.env, 'read: services/api/.env']
        allow: [src/env.ts]

tools:
  rules:
    - tool: fs_delete
      decision: ask
\`\`\``;
