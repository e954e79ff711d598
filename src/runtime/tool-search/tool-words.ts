// Owns: which words a tool is found by, and how much each counts: those of its name more than those of its fields.
// Refuses: to look at what a schema means; only names and descriptions in it are words.
import { isRecord } from '../../base/is-record.ts';
import type { ToolContract } from '../../contract/tool.ts';
import type { WordReader } from './words-of.ts';

/** What is read of a tool, how much a word there counts, and how many words are usual there. */
const FIELDS: readonly {
  readonly weight: number;
  /** Fixed, not averaged: the order of two tools must not depend on which others were added before. */
  readonly usual: number;
  texts(tool: ToolContract, input: SchemaTexts, output: SchemaTexts): readonly string[];
}[] = [
  { weight: 4, usual: 3, texts: ({ id }) => [id] },
  { weight: 3, usual: 5, texts: ({ title }) => [title] },
  { weight: 3, usual: 3, texts: ({ tags }) => tags },
  { weight: 1.5, usual: 25, texts: ({ description }) => [description] },
  { weight: 1.2, usual: 6, texts: (_, { names }) => names },
  { weight: 0.6, usual: 40, texts: (_, { descriptions }) => descriptions },
  { weight: 0.4, usual: 40, texts: (_, __, { names, descriptions }) => [...names, ...descriptions] },
];

/** How much a long field takes away from each of its words: 0 nothing, 1 in full proportion. */
const LENGTH_MATTERS = 0.6;

/** Word → how much it counts for this tool. */
export function toolWords(tool: ToolContract, read: WordReader): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  const input = textsIn(tool.input);
  const output = textsIn(tool.output);
  for (const { weight, usual, texts } of FIELDS) {
    const words = texts(tool, input, output).flatMap(read);
    const each = weight / (1 - LENGTH_MATTERS + LENGTH_MATTERS * (words.length / usual));
    for (const word of words) found.set(word, (found.get(word) ?? 0) + Math.min(each, weight));
  }
  return found;
}

interface SchemaTexts {
  readonly names: string[];
  readonly descriptions: string[];
}

const DEEPEST = 6;
const MOST_TEXTS = 500;
/** Keywords that hold schemas: one, a list of them, or some by name. */
const NESTED = ['items', 'additionalProperties', 'not', 'if', 'then', 'else'];
const LISTS = ['allOf', 'anyOf', 'oneOf', 'prefixItems'];
const MAPS = ['properties', 'patternProperties', '$defs', 'definitions'];

function textsIn(schema: unknown): SchemaTexts {
  const texts: SchemaTexts = { names: [], descriptions: [] };
  collect(schema, 0, texts);
  return texts;
}

function collect(schema: unknown, depth: number, into: SchemaTexts): void {
  if (!isRecord(schema) || depth > DEEPEST) return;
  const { names, descriptions } = into;
  if (names.length + descriptions.length > MOST_TEXTS) return;
  const { title, description, enum: among, properties } = schema;
  if (typeof title === 'string') descriptions.push(title);
  if (typeof description === 'string') descriptions.push(description);
  if (Array.isArray(among)) descriptions.push(...among.filter((one) => typeof one === 'string'));
  if (isRecord(properties)) names.push(...Object.keys(properties));
  for (const key of NESTED) if (key in schema) collect(schema[key], depth + 1, into);
  for (const key of LISTS) {
    const list = schema[key];
    if (Array.isArray(list)) for (const one of list) collect(one, depth + 1, into);
  }
  for (const key of MAPS) {
    const map = schema[key];
    if (isRecord(map)) for (const one of Object.values(map)) collect(one, depth + 1, into);
  }
}
