// Owns: putting a grant (what a denial's `admit` says) into the text of haft.yaml, comments and layout kept.
// Refuses: writing the file, and judging the result; whoever applies a grant loads the text again.
import type { Document, Node, Pair, Scalar, YAMLMap, YAMLSeq } from 'yaml';
import { fail } from '../../contract/errors.ts';
import { ruleIdentity } from '../../contract/policy-match.ts';

type Yaml = typeof import('yaml');
type Plain = string | number | boolean | null | readonly Plain[] | { readonly [key: string]: Plain };

/** The text with the grant in it. An entry that is there already is changed; any other is added at the end of its list. */
export async function applyAdmit(fileText: string, admit: string): Promise<string> {
  const yaml = await import('yaml');
  const document = yaml.parseDocument(fileText.trim() === '' ? 'version: 1\n' : fileText);
  if (document.errors.length > 0 || !yaml.isMap(document.contents)) {
    throw fail('policy.invalid', 'Cannot add to haft.yaml: it has problems; see haft policy check');
  }
  mergeMap(yaml, document, document.contents, yaml.parse(admit) as { readonly [key: string]: Plain });
  return document.toString({ lineWidth: 0 });
}

function mergeMap(
  yaml: Yaml,
  document: Document,
  map: YAMLMap,
  grant: { readonly [key: string]: Plain },
): void {
  for (const [key, value] of Object.entries(grant)) {
    const known = follow(yaml, document, map.get(key, true));
    if (yaml.isMap(known) && isPlainMap(value)) mergeMap(yaml, document, known, value);
    else if (yaml.isSeq(known) && Array.isArray(value)) mergeList(yaml, document, known, value);
    else setValue(yaml, document, map, key, value);
  }
}

/** Changes the value in place where there is one, so that a comment behind it stays. */
function setValue(yaml: Yaml, document: Document, map: YAMLMap, key: string, value: Plain): void {
  const pair = map.items.find((item) => yaml.isScalar(item.key) && item.key.value === key) as
    | Pair<Node, Node | null>
    | undefined;
  if (pair && yaml.isScalar(pair.value) && typeof value !== 'object') (pair.value as Scalar).value = value;
  else map.set(document.createNode(key), document.createNode(value));
}

function mergeList(yaml: Yaml, document: Document, list: YAMLSeq, entries: readonly Plain[]): void {
  for (const entry of entries) {
    const same = list.items
      .map((item, at) => ({ at, node: follow(yaml, document, item) }))
      .filter(({ node }) => yaml.isNode(node) && ruleIdentity(node.toJS(document)) === ruleIdentity(entry));
    if (same.length === 0) list.add(document.createNode(entry));
    for (const { at, node } of same) {
      if (!isPlainMap(entry)) continue;
      if (yaml.isMap(node)) changeRule(yaml, document, node, entry);
      else list.set(at, document.createNode(entry));
    }
  }
}

/** The examples of a rule say what it was for before; they would no longer hold. */
function changeRule(
  yaml: Yaml,
  document: Document,
  rule: YAMLMap,
  entry: { readonly [key: string]: Plain },
): void {
  for (const [key, value] of Object.entries(entry)) {
    if (JSON.stringify(rule.toJS(document)[key]) === JSON.stringify(value)) continue;
    setValue(yaml, document, rule, key, value);
    rule.delete('examples');
  }
}

const follow = (yaml: Yaml, document: Document, node: unknown): unknown =>
  yaml.isAlias(node) ? node.resolve(document) : node;

const isPlainMap = (value: Plain): value is { readonly [key: string]: Plain } =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
