// Owns: the reference page of `*.tool.yaml` and its JSON Schema for editors, both made from the table.
// Refuses: keys and defaults of its own; what the page says about them is what the loader checks.
import type { JsonSchema } from '../src/contract/json.ts';
import { TOOL_YAML } from '../src/loader/tool-yaml/tool-yaml-shape.ts';
import { schemaOfShape, sectionsOf } from './shape-page.ts';

export const toolYamlSchema = (): JsonSchema => schemaOfShape('*.tool.yaml', TOOL_YAML);

/** Markdown. */
export function renderToolYamlReference(): string {
  return [INTRODUCTION, EXAMPLE, EDITORS, ...sectionsOf(TOOL_YAML), SCHEMAS, FILES, READING]
    .join('\n\n')
    .concat('\n');
}

const INTRODUCTION = `# \`*.tool.yaml\`

A tool that is described and not programmed: what it takes and answers, how it is run, and what it needs. A folder of such
files is a pack. Every field is enforced or refused; what a tool does not ask for it does not get, whatever policy grants.

\`haft tools check DIR\` tells every problem of every file at once, each with line, column and what to type instead. A pack with
an error in it is not loaded at all; in quarantine the good tools are loaded, and the others are named. Keys are written in
camelCase, and there are no others than those on this page.`;

const EXAMPLE = `## Example

\`\`\`yaml
# yaml-language-server: $schema=./tool-yaml.schema.json
id: text.count
version: 1.0.0
name: Count words
description: Counts lines, words and characters of a text. For whole files take file_read first.
tags: [text]
deterministic: true
timeoutMs: 5000
limits:
  maxInputBytes: 1048576
  maxOutputBytes: 4096
inputSchema:
  type: object
  required: [text]
  additionalProperties: false
  properties:
    text: { type: string, description: What to count in. }
outputSchema:
  type: object
  properties:
    lines: { type: integer, minimum: 0 }
    words: { type: integer, minimum: 0 }
    characters: { type: integer, minimum: 0 }
execution:
  kind: python
  module: count:run
\`\`\`

and beside it \`count.py\`:

\`\`\`python
def run(input):
    text = input["text"]
    return {"lines": text.count("\\n"), "words": len(text.split()), "characters": len(text)}
\`\`\``;

const EDITORS = `## In an editor

[tool-yaml.schema.json](tool-yaml.schema.json) is a JSON Schema of this page. Editors that use the YAML language server complete
keys and underline mistakes with the line \`# yaml-language-server: $schema=PATH_OR_URL\` at the top of a file, or for all of them
with a setting such as \`"yaml.schemas": { "PATH_OR_URL": "*.tool.yaml" }\`. What the schema cannot say (patterns, paths,
references, contradictions) the loader says.`;

const SCHEMAS = `## Schemas

- JSON Schema 2020-12, unless \`$schema\` says \`http://json-schema.org/draft-07/schema#\`. Other dialects are refused.
- \`$ref\` may lead to \`#/…\` in the same schema, to an anchor, or to a file (JSON or YAML) relative to the file that refers, with
  a pointer behind \`#\`: \`$ref: schemas/common.json#/$defs/name\`. Chains and recursion work: everything that is referred to
  becomes a part of the tool's own \`$defs\`. A schema that is nothing but a \`$ref\` becomes what it refers to.
- In 2020-12 keywords beside \`$ref\` count; in draft-07 they do not. A \`$ref\` in \`const\`, \`enum\`, \`default\` or \`examples\` is data.
- Nothing is fetched from the network. Formats are asserted, and defaults are filled in before a call.
- Patterns are matched in linear time, and so have no look-around and no back references.`;

const FILES = `## Files

- Everything that a manifest runs lies in the pack's folder, the one that was loaded, and has to be there; links that lead out of it
  are refused. Schemas may also lie beside it: below the workspace of a pack that \`haft.yaml\` names, below \`root\` in
  \`loadDir(dir, { root })\`; there, only \`.json\` and \`.yaml\` files that are not hidden.
- Paths in a manifest are relative to its own folder. A Python module is looked for there, then in the pack's folder.
- A tool's digest covers its definition, its schemas wherever they lie, and the scripts that it names. Comments and layout are no part of it.
- Files may have 1 MiB; scripts may have any size. Folders that begin with a dot, and \`node_modules\`, are not looked at.`;

const READING = `## YAML

YAML 1.2: \`yes\`, \`on\` and \`0777\` are not what they were in 1.1. Anchors and aliases are taken, and an alias counts as often as it
is used, so that they cannot multiply. Merge keys (\`<<\`), tags, tabs, doubled keys, a second document, and nesting over 64
levels are refused. A byte order mark and Windows line ends are taken.`;
