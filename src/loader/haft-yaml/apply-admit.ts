// Owns: changing haft.yaml: its text with a grant in it (what a denial's `admit` says), layout kept, and that text in the file's place.
// Refuses: judging the result, and a draft where tools could change it after it was judged.
import { chmodSync, lstatSync, mkdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Document, Node, Pair, Scalar, YAMLMap, YAMLSeq } from 'yaml';
import { fail } from '../../contract/errors.ts';
import { ruleIdentity } from '../../contract/policy-match.ts';
import { isNotRegular, readRegularText } from '../read-regular.ts';

type Yaml = typeof import('yaml');
type Plain = string | number | boolean | null | readonly Plain[] | { readonly [key: string]: Plain };

/** The text with the grant in it. An entry that is there already is changed; any other is added at the end of its list. */
export async function applyAdmit(fileText: string, admit: string): Promise<string> {
  const yaml = await import('yaml');
  const mark = fileText.startsWith('\ufeff') ? '\ufeff' : '';
  const original = fileText.slice(mark.length);
  // The library takes the end of a line for a part of comments and block texts.
  const source = original.trim() === '' ? 'version: 1\n' : original.replaceAll('\r\n', '\n');
  const document = yaml.parseDocument(source);
  if (document.errors.length > 0 || !yaml.isMap(document.contents)) {
    throw fail('policy.invalid', 'Cannot add to haft.yaml: it has problems; see haft policy check');
  }
  const plain = document.toString({ lineWidth: 0 });
  mergeMap(yaml, document, document.contents, yaml.parse(admit) as { readonly [key: string]: Plain });
  const edited = document.toString({ lineWidth: 0 });
  if (edited === plain) return fileText;
  const { keepLayout } = await import('./keep-layout.ts');
  const kept = await keepLayout({ original, plain, edited });
  if (saysTheSame(yaml, kept, edited)) return mark + kept;
  return mark + (original.includes('\r\n') ? edited.replaceAll('\n', '\r\n') : edited);
}

/** Where the layout of the file cannot be kept for certain, the library's is taken. */
function saysTheSame(yaml: Yaml, one: string, other: string): boolean {
  const document = yaml.parseDocument(one);
  if (document.errors.length > 0) return false;
  return JSON.stringify(document.toJS()) === JSON.stringify(yaml.parse(other));
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
  else map.set(document.createNode(key), nodeOf(yaml, document, value));
}

function mergeList(yaml: Yaml, document: Document, list: YAMLSeq, entries: readonly Plain[]): void {
  for (const entry of entries) {
    const same = list.items
      .map((item, at) => ({ at, node: follow(yaml, document, item) }))
      .filter(({ node }) => yaml.isNode(node) && ruleIdentity(node.toJS(document)) === ruleIdentity(entry));
    if (same.length === 0) list.add(nodeOf(yaml, document, entry));
    for (const { at, node } of same) {
      if (!isPlainMap(entry)) continue;
      if (yaml.isMap(node)) changeRule(yaml, document, node, entry);
      else list.set(at, nodeOf(yaml, document, entry));
    }
  }
}

/** Patterns and globs in single quotes, as everywhere in haft.yaml. */
function nodeOf(yaml: Yaml, document: Document, value: Plain): Node {
  const node = document.createNode(value);
  yaml.visit(node, {
    Scalar(at, scalar) {
      if (at !== 'key' && typeof scalar.value === 'string' && !/^[\w./-]+$/.test(scalar.value))
        scalar.type = 'QUOTE_SINGLE';
    },
  });
  return node;
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

// -------------------------------------------------------------------------------------------- the file

const NAME = 'haft.yaml';

/** Empty where there is none. */
export function readPolicyText(workspace: string): string {
  try {
    return readRegularText(join(workspace, NAME));
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return '';
    if (isNotRegular(thrown)) throw fail('path.not_regular', `Cannot read ${NAME}: it is not a regular file`);
    throw thrown;
  }
}

/** What it says is said for other folders as well. */
export const isLinkedPolicy = (workspace: string): boolean =>
  lstatSync(join(workspace, NAME), { throwIfNoEntry: false })?.isSymbolicLink() ?? false;

/** The whole text or nothing. `check` is given the path of the draft; what it throws keeps the file as it was. */
export async function replacePolicyFile<T>(
  workspace: string,
  text: string,
  check: (draft: string) => Promise<T>,
): Promise<T> {
  const file = join(workspace, NAME);
  const draft = join(workspace, '.haft', `${NAME}.${process.pid}`);
  try {
    mkdirSync(join(workspace, '.haft'), { recursive: true, mode: 0o700 });
    const { mode = 0o644 } = statSync(file, { throwIfNoEntry: false }) ?? {};
    writeFileSync(draft, text, { flag: 'wx' });
    chmodSync(draft, mode & 0o777);
    const checked = await check(draft);
    renameSync(draft, file);
    return checked;
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS')
      throw fail('path.denied_by_os', `Cannot write ${NAME}: its folder is not writable`);
    throw thrown;
  } finally {
    rmSync(draft, { force: true });
  }
}
