// Owns: which words a tool is found by, in the form in which they are compared, and how much each counts.
// Refuses: grammar, and what a schema means: only names and descriptions in it are words.
import { isRecord } from '../../base/is-record.ts';
import type { ToolContract } from '../../contract/tool.ts';

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

/** Lower case, without accents and endings; `createPullRequest` and `create_pull_request` give the same words. */
export type WordReader = (text: string) => string[];

/** Remembers the forms of words that it met: tools of one pack share most of theirs. */
export function createWordReader(): WordReader {
  const forms = new Map<string, string>();
  return (text) => {
    const whole = text.length > LONGEST_TEXT ? text.slice(0, LONGEST_TEXT) : text;
    const ascii = ASCII.test(whole);
    const found = (ascii ? whole : withoutAccents(whole)).match(ascii ? ASCII_PARTS : PARTS) ?? [];
    const words: string[] = [];
    for (const part of found) {
      let form = forms.get(part);
      if (form === undefined) {
        form = formOf(part.toLowerCase());
        if (forms.size >= MOST_FORMS) forms.clear();
        forms.set(part, form);
      }
      if (form !== '') words.push(form);
    }
    return words;
  };
}

const LONGEST_TEXT = 8_192;
const LONGEST_WORD = 40;
const MOST_FORMS = 50_000;

/** `parseHTTPUrl2` is parse, HTTP, Url, 2. Letters without case stay together. */
const ASCII_PARTS = /[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+/g;
const PARTS = /\p{Lu}+(?!\p{Ll})|\p{Lu}?\p{Ll}+|\p{N}+|[\p{Lt}\p{Lm}\p{Lo}]+/gu;
const ASCII = /^[\0-\x7f]*$/;

const withoutAccents = (text: string): string =>
  text
    .normalize('NFKD')
    .replaceAll(/[\u0300-\u036f]/g, '')
    .normalize();

const formOf = (word: string): string => (EMPTY_WORDS.has(word) ? '' : stem(word.slice(0, LONGEST_WORD)));

const EMPTY_WORDS = new Set(
  'a an and are as at be by can do does for from get how i if in into is it its me my of on or please that the their this to use using want what when where which will with you your'.split(
    ' ',
  ),
);

/** Rough, and the same for both sides: that is all that finding needs. */
export function stem(word: string): string {
  if (word.length <= 3) return word;
  const single = withoutPlural(word);
  const ending = /(ing|ed)$/.exec(single);
  let root = single;
  if (ending && single.length - ending[0].length >= 4) {
    root = single.slice(0, ending.index);
    if (/([bdgmnprt])\1$/.test(root)) root = root.slice(0, -1);
  }
  return root.length >= 5 && root.endsWith('e') ? root.slice(0, -1) : root;
}

function withoutPlural(word: string): string {
  if (word.endsWith('ies') && word.length > 4) return `${word.slice(0, -3)}y`;
  return /[^suix]s$/.test(word) ? word.slice(0, -1) : word;
}
