// Owns: the schema files of a pack, each read and checked once however many tools refer to it.
// Refuses: anything outside of the folder that references must stay below, and the network.
import { isUtf8 } from 'node:buffer';
import { posix } from 'node:path';
import { parseStrict } from '../../base/strict-json.ts';
import { openDocument, type WholeSite, wholeSchema } from '../schema/check-schema.ts';
import type { Dialect } from '../schema/dialect.ts';
import type { DocumentSource, Refusal, SchemaDocument } from '../schema/schema-document.ts';
import { indexDocument } from '../schema/schema-document.ts';
import { findNonJson } from '../yaml/check-shape.ts';
import { type Located, START, toPlain } from '../yaml/located.ts';
import { parseYaml } from '../yaml/parse-yaml.ts';
import { createTeller, type Problem } from '../yaml/problem.ts';
import { readPlainYaml } from '../yaml/read-plain-yaml.ts';
import { createReport, type Report } from '../yaml/report.ts';
import { wayText } from '../yaml/way.ts';
import type { FileStamp, PackReader } from './pack-files.ts';

/** A file that was read, with what is wrong with it. */
export interface SchemaFile {
  readonly path: string;
  readonly text: string;
  readonly stamp: FileStamp;
  /** Undefined where the text is not of its own format. */
  readonly root: unknown;
  /** Where values are, if that is known already. */
  readonly located?: Located | undefined;
  /** What is wrong with the text. */
  readonly report: Report;
  /** What is wrong with the schema. */
  readonly problems: Problem[];
}

export interface SchemaFiles {
  /**
   * The schema that is written at `source` in the manifest of this path, made whole. Undefined where something is wrong
   * with it, or with what it refers to.
   */
  whole(source: DocumentSource, path: string): unknown;
  /** Every file that was read so far. */
  files(): Iterable<SchemaFile>;
  /** Whether a file needs the reader with places before anybody who refers to it can be checked. */
  readonly waiting: boolean;
  /** Reads those; whoever was checked meanwhile is to be checked again. */
  readWaiting(): Promise<void>;
}

interface SchemaFilesSite {
  readonly reader: PackReader;
  readonly names: PackNames;
  whyNotPattern(pattern: string): string | undefined;
  /** Told of every file that a schema depends on, by its path; null where nothing is there. */
  depend(path: string, stamp: FileStamp | null): void;
}

export function createSchemaFiles({ reader, names, whyNotPattern, ...host }: SchemaFilesSite): SchemaFiles {
  const files = new Map<string, SchemaFile | Refusal>();
  const documents = new Map<string, SchemaDocument | Refusal>();
  const waiting = new Map<string, SchemaFile>();
  const remembered = new Map<string, Remembered>();
  let depends: Remembered['depends'] = [];
  const depend = (path: string, stamp: FileStamp | null): void => {
    depends.push({ path, stamp });
    host.depend(path, stamp);
  };

  const fileAt = (path: string): SchemaFile | Refusal => {
    const known = files.get(path);
    if (known) return known;
    const found = reader.readSchema(path);
    const file =
      found === undefined
        ? MISSING
        : 'code' in found
          ? refused(found)
          : parse(path, found.bytes, found.stamp);
    if (!('code' in file) && file.root === undefined && !file.report.failed) {
      waiting.set(path, file);
      return BROKEN;
    }
    files.set(path, file);
    return file;
  };

  const documentAt = (path: string, dialect: Dialect): SchemaDocument | Refusal => {
    const file = fileAt(path);
    if ('code' in file) return file;
    if (file.root === undefined) return BROKEN;
    const key = `${dialect} ${path}`;
    const known = documents.get(key);
    if (known) return known;
    const tell = createTeller((problem) => {
      // What is found while a file waits is found again once that was read, or was not so.
      if (waiting.size === 0 && !file.problems.some((one) => sameProblem(one, problem)))
        file.problems.push(problem);
    });
    const odd = findNonJson(file.root, undefined);
    if (odd && !odd.told) tell.error('value.json', odd.way, `${wayText(odd.way)}: ${odd.fact}`);
    const source = { uri: names.uri(path), root: file.root, dialect, tell };
    // A manifest is no schema; what is referred to in it is.
    const open = path.endsWith('.tool.yaml') ? indexDocument : openDocument;
    const document = (odd ? undefined : open(source, site)) ?? BROKEN;
    documents.set(key, document);
    return document;
  };

  const outside: Refusal = { code: 'ref.outside', fact: `leads outside of ${reader.bounds}` };
  const site: WholeSite = {
    whyNotPattern,
    open(uri, reference, { uri: base, dialect }) {
      const path = names.path(uri);
      if (path === undefined) return REMOTE;
      if (names.climbsOut(reference, names.path(base) ?? '')) return outside;
      const document = documentAt(path, dialect);
      const file = files.get(path);
      depend(path, file && !('code' in file) ? file.stamp : null);
      return document;
    },
  };

  return {
    whole(source, path) {
      const key = onlyReference(source.root, path);
      const known = key === undefined ? undefined : remembered.get(key);
      if (known) {
        for (const one of known.depends) host.depend(one.path, one.stamp);
        return known.whole;
      }
      depends = [];
      const whole = wholeSchema(source, site);
      if (key !== undefined && whole !== undefined) remembered.set(key, { whole, depends });
      return whole;
    },
    files: () => [...files.values()].filter((file): file is SchemaFile => !('code' in file)),
    get waiting() {
      return waiting.size > 0;
    },
    async readWaiting() {
      for (const [path, file] of waiting) {
        const located = await parseYaml(file.text, file.report);
        files.set(path, { ...file, located, root: located && toPlain(located) });
      }
      waiting.clear();
      documents.clear();
    },
  };
}

interface Remembered {
  readonly whole: unknown;
  readonly depends: { readonly path: string; readonly stamp: FileStamp | null }[];
}

/** Many tools share a schema, and then say nothing but where it is. */
function onlyReference(root: unknown, path: string): string | undefined {
  const { $ref, ...rest } = root as { readonly $ref?: unknown };
  if (typeof $ref !== 'string' || $ref.startsWith('#') || Object.keys(rest).length > 0) return undefined;
  return `${posix.dirname(path)} ${$ref}`;
}

function parse(path: string, bytes: Buffer, stamp: FileStamp): SchemaFile {
  const report = createReport(path);
  const file = { path, stamp, report, problems: [], root: undefined };
  if (!isUtf8(bytes)) {
    report.error('file.encoding', START, 'The text is not UTF-8', 'save the file as UTF-8');
    return { ...file, text: '' };
  }
  const text = bytes.toString('utf8').replace(/^\ufeff/, '');
  if (!path.endsWith('.json')) return { ...file, text, root: readPlainYaml(text) };
  try {
    return { ...file, text, root: parseStrict(text) };
  } catch (error) {
    const fact = (error as Error).message.replace(/^Cannot [^:]*: /, '');
    report.error('schema.syntax', placeIn(fact), `The file is not JSON: ${fact}`);
    return { ...file, text };
  }
}

/** JSON's parser says where it gave up, in words. */
function placeIn(message: string): { readonly line: number; readonly column: number } {
  const found = /line (\d+) column (\d+)/.exec(message);
  return found ? { line: Number(found[1]), column: Number(found[2]) } : START;
}

const sameProblem = (a: Problem, b: Problem): boolean => a.code === b.code && a.message === b.message;

const refused = ({ code, fact }: { readonly code: string; readonly fact: string }): Refusal => ({
  code: code === 'path.outside' ? 'ref.outside' : 'ref.unreadable',
  fact: `names a file that ${fact}`,
});

const MISSING: Refusal = { code: 'ref.missing', fact: 'names a file that is not there' };
const BROKEN: Refusal = { code: 'ref.broken', fact: 'leads to a file that has problems of its own' };
const REMOTE: Refusal = {
  code: 'ref.remote',
  fact: 'leads to another place, and schemas are not fetched',
  hint: 'put a copy into the pack and refer to that',
};

const ROOT = 'pack:/';

/**
 * Names count from the folder that references must not leave: the pack's own, or one above it. `prefix` is the way from
 * there to the pack's folder, '' where they are the same; paths are relative to the pack's folder.
 */
export interface PackNames {
  uri(path: string): string;
  /** A schema that is written in a manifest: `#` in it is itself, and other files are relative to the manifest. */
  part(path: string, part: string): string;
  /** The file that is named, or that the part is of. Undefined where it names no file of a pack. */
  path(uri: string): string | undefined;
  climbsOut(reference: string, from: string): boolean;
}

export function createPackNames(prefix: string): PackNames {
  const down = (path: string) => (prefix === '' ? path : posix.join(prefix, path));
  const uri = (path: string): string => ROOT + down(path).split('/').map(encodeURIComponent).join('/');
  return {
    uri,
    part: (path, part) => `${uri(path)}?${encodeURIComponent(part)}`,
    path(given) {
      const path = decodedPath(given);
      return path === undefined || prefix === '' ? path : posix.relative(`/${prefix}`, `/${path}`);
    },
    climbsOut: (reference, from) => climbsOut(reference, down(from)),
  };
}

function decodedPath(uri: string): string | undefined {
  if (!uri.startsWith(ROOT)) return undefined;
  try {
    return uri.slice(ROOT.length).replace(/\?.*$/, '').split('/').map(decodeURIComponent).join('/');
  } catch {
    return undefined;
  }
}

/** Whether a reference in this file leads above that folder; resolving it as a URI would hide that. */
function climbsOut(reference: string, from: string): boolean {
  const [path = ''] = reference.split('#');
  if (/^[a-z][a-z0-9+.-]*:/i.test(path)) return false;
  if (path.startsWith('/')) return true;
  let decoded = path;
  try {
    decoded = decodeURIComponent(path);
  } catch {
    // Then it is not a file's name either, and will not be found.
  }
  return /^\.\.(\/|$)/.test(posix.join(posix.dirname(from), decoded));
}
