// Owns: the reference page of haft.yaml, and its JSON Schema for editors, written from the table.
// Refuses: keys and defaults of its own; what the page says about them is what the loader checks.
import type { JsonSchema } from '../src/contract/json.ts';
import { ENFORCED_BY_POLICY } from '../src/contract/rule.ts';
import { HAFT_YAML } from '../src/loader/haft-yaml/check-policy.ts';
import { SECTIONS } from '../src/policy/sections/index.ts';
import { schemaOfShape, sectionsOf } from './shape-page.ts';

export const haftYamlSchema = (): JsonSchema => schemaOfShape('haft.yaml', HAFT_YAML);

/** Markdown. */
export function renderHaftYamlReference(): string {
  return [INTRODUCTION, ...sectionsOf(HAFT_YAML), DECISIONS, noEffect(), EXAMPLE].join('\n\n').concat('\n');
}

const INTRODUCTION = `# haft.yaml

What a workspace grants to tools. Without the file tools may read and write in the workspace; there is no
network, no shell and no push. The file is read-only to tools.

Every problem is told at once, with line, column and what to type instead; a file with any error refuses start-up.
\`haft policy check\` shows the same without starting anything.`;

const noEffect = (): string => `## Keys that have no effect yet

They are read and checked, so that a file can be written for versions to come. \`haft policy check\`, \`haft doctor\` and
hosts that stay (\`haft serve\`, \`haft mcp\`) name those that a file uses.

| key | why |
| --- | --- |
${[...SECTIONS.flatMap(({ unused = {} }) => Object.entries(unused)), ...Object.entries(ENFORCED_BY_POLICY).map(([rule, why]) => [`validators: ${rule}`, `it always holds: ${why}`])].map(([key, why]) => `| \`${key}\` | ${why} |`).join('\n')}
| \`validators\`: other rules that are not built | as \`warning\` or \`suggestion\` they are named; as \`blocking\` they refuse start-up |`;

const DECISIONS = `## How rules decide

- Of all the rules that match a call the **strictest** wins, whatever their order: \`deny\` before \`ask\` before \`allow\`.
  A rule that can never have a say is pointed out.
- A call is decided over its tool and everything that it would touch. What none of the rules names falls to the default.
- Path globs are relative to the workspace: \`*\` and \`?\` stay within a name, \`**\` spans folders, \`[a-z]\` and \`{a,b}\` work as
  usual, and names that begin with a dot are matched like any other. A glob whose last part has no wildcard also holds for
  everything below it. One that begins with \`/\` is about a folder of \`paths.extra_roots\`; one that begins with \`**\` about both.
- Protected whatever the rules say: \`.haft\` is neither read nor written; \`haft.yaml\`, \`haft.lock\` and pack folders are not
  written; \`.git\` is written only by git tools, its \`hooks\` and \`config\` by none.
- A call that would write a whole folder is denied, or asked about, where a rule says so of something that it names in
  there. A rule whose \`**\` could lead anywhere is held against each file before any is touched; one that asks then refuses,
  and the answer names the path to ask about by itself. Listings and searches leave out what may not be read.
- Sandboxed programs cannot be asked about one file, so what a rule asks about or denies is closed to them. A rule with
  \`programs: allow\` binds tools alone: where its path matches, no rule of this file keeps programs from what it names.
  \`{ path: "**/node_modules", write: ask, programs: allow }\` asks before \`file_write\` and lets \`npm install\` work.
- Patterns of \`shell_allow\` are linear-time regular expressions without look-around, over each canonical command of a line.
  One that allows counts only from the start of the command, with or without \`^\`; one that asks or denies counts anywhere.
  Write them in single quotes: in double quotes a backslash means something else to YAML.
- A rule's \`examples\` are decided whenever the file is loaded, together with all the other rules of its list. One that does
  not come out as it says is an error. Those of \`shell_allow\` are shell lines: \`cargo build && rm -rf /\` is two commands.`;

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
