// Owns: a pack of ten thousand manifests, such as a large host has: programs, commands and requests, with their schemas.
// Refuses: to make them smaller than people write them; each has about sixty lines.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export const PACK = { tools: 10_000, folders: 50, modules: 100 } as const;

/** Answers with the paths of the manifests. */
export function makePack(folder: string): string[] {
  const paths: string[] = [];
  for (let i = 0; i < PACK.tools; i++) {
    const group = join(folder, `group${i % PACK.folders}`);
    if (i < PACK.folders) mkdirSync(group, { recursive: true });
    const path = join(group, `tool${i}.tool.yaml`);
    writeFileSync(path, manifest(i));
    paths.push(path);
  }
  mkdirSync(join(folder, 'lib'));
  for (let i = 0; i < PACK.modules; i++)
    writeFileSync(
      join(folder, `lib/search_${i}.py`),
      `def run(input):\n    return {"hits": [], "of": ${i}}\n`,
    );
  mkdirSync(join(folder, 'schemas'));
  writeFileSync(join(folder, 'schemas/hits.json'), JSON.stringify(HITS, null, 2));
  return paths;
}

const HITS = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  required: ['hits'],
  properties: { hits: { type: 'array', items: { $ref: '#/$defs/hit' } } },
  $defs: { hit: { type: 'object', properties: { id: { type: 'string' }, score: { type: 'number' } } } },
};

const EXECUTIONS: readonly ((i: number) => string)[] = [
  (i) => `  kind: python\n  module: lib.search_${i % PACK.modules}:run`,
  (i) => `  kind: cli\n  cmd: [search, --collection, c${i % 20}, --json, "{{ input.query }}"]`,
  (i) =>
    `  kind: http\n  url: https://search.example.org/v1/c${i % 20}\n  method: POST\n  headers:\n    Accept: application/json`,
];

/** The one that has no program, and so no files. */
const HTTP = 2;

const OUTPUTS = [
  `  type: object
  required: [hits]
  properties:
    hits:
      type: array
      items:
        type: object
        properties:
          id: { type: string }
          score: { type: number }`,
  '  $ref: ../schemas/hits.json',
];

const isHttp = (i: number): boolean => i % EXECUTIONS.length === HTTP;

const manifest = (i: number): string => `# Searches one collection.
id: search.group_${i % PACK.folders}.tool_${i}
version: 1.${i % 10}.${i % 3}
name: Search collection ${i}
description: >-
  Searches the documents of collection ${i} and answers with the best matches,
  each with its score. Take "fetch" where the document's id is already known.
tags: [search, documents, collection_${i % 20}]
deterministic: ${isHttp(i) ? 'false' : 'true'}
idempotent: true
timeoutMs: ${1000 + i}
limits:
  maxInputBytes: 16384
  maxOutputBytes: 262144
inputSchema:
  $schema: https://json-schema.org/draft/2020-12/schema
  type: object
  additionalProperties: false
  required: [query]
  properties:
    query:
      type: string
      minLength: 1
      description: What to look for in collection ${i}.
    limit:
      type: integer
      minimum: 1
      maximum: 100
      default: 10
    filters:
      type: array
      items:
        type: object
        required: [field, value]
        properties:
          field: { type: string, pattern: '^[a-z_]+$' }
          value: { type: [string, number, boolean] }
outputSchema:
${i % 10 === 0 ? OUTPUTS[1] : OUTPUTS[0]}
execution:
${EXECUTIONS[i % EXECUTIONS.length]!(i)}
caps:
${isHttp(i) ? '  network: [https]' : `  filesystem:\n    read: [data/collection_${i % 20}]`}
env:
  passthrough: [LANG]
  set:
    COLLECTION: "c${i % 20}"
templating:
  engine: jinja2
${isHttp(i) ? '' : "  cacheKey: '{{ id }}:{{ input.query }}'\n"}`;
