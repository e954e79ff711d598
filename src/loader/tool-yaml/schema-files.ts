// Owns: the schema files of a pack, each read and checked once however many tools refer to it.
// Refuses: anything outside of the pack's folder, and the network.
import { isUtf8 } from 'node:buffer';
import { parseStrict } from '../../base/strict-json.ts';
import type { Dialect } from '../schema/dialect.ts';
import type { Refusal } from '../schema/resolve-reference.ts';
import type { SchemaDocument } from '../schema/schema-document.ts';
import { openDocument, type WholeSite } from '../schema/whole-schema.ts';
import { createTeller, type Problem } from '../yaml/problem.ts';
import { readPlainYaml } from '../yaml/read-plain-yaml.ts';
import type { FileStamp, PackReader } from './pack-files.ts';
import { climbsOut, packPath, packUri } from './pack-uri.ts';

/** A file that was read, with what is wrong with it. Without a text it could not even be read. */
export interface SchemaFile {
  readonly path: string;
  readonly text: string;
  readonly problems: Problem[];
  /** What the parser said, where the text is not of its own format. */
  readonly syntax?: string;
  readonly stamp: FileStamp;
  readonly root: unknown;
}

export interface SchemaFiles extends WholeSite {
  /** Every file that was read so far. */
  files(): Iterable<SchemaFile>;
}

export interface SchemaFilesSite {
  readonly reader: PackReader;
  whyNotPattern(pattern: string): string | undefined;
  /** Told of every file that a schema depends on, by its path; null where nothing is there. */
  depend(path: string, stamp: FileStamp | null): void;
}

export function createSchemaFiles({ reader, whyNotPattern, depend }: SchemaFilesSite): SchemaFiles {
  const files = new Map<string, SchemaFile | Refusal>();
  const documents = new Map<string, SchemaDocument | Refusal>();

  const fileAt = (path: string): SchemaFile | Refusal => {
    const known = files.get(path);
    if (known) return known;
    const found = reader.read(path);
    const file =
      found === undefined
        ? MISSING
        : 'code' in found
          ? { ...REFUSED, ...found }
          : parse(path, found.bytes, found.stamp);
    files.set(path, file);
    return file;
  };

  const documentAt = (path: string, dialect: Dialect): SchemaDocument | Refusal => {
    const file = fileAt(path);
    depend(path, 'code' in file ? null : file.stamp);
    if ('code' in file) return file;
    if (file.root === undefined) return BROKEN;
    const tell = createTeller((problem) => {
      if (!file.problems.some((one) => sameProblem(one, problem))) file.problems.push(problem);
    });
    return openDocument({ uri: packUri(path), root: file.root, dialect, tell }, site) ?? BROKEN;
  };

  const site: SchemaFiles = {
    whyNotPattern,
    files: () => [...files.values()].filter((file): file is SchemaFile => !('code' in file)),
    open(uri, reference, base) {
      const from = packPath(base.uri) ?? '';
      if (climbsOut(reference, from) && packPath(uri) !== undefined) return OUTSIDE;
      const path = packPath(uri);
      if (path === undefined) return REMOTE;
      const key = `${base.dialect} ${path}`;
      const known = documents.get(key);
      if (known) {
        const file = files.get(path);
        depend(path, file && !('code' in file) ? file.stamp : null);
        return known;
      }
      const document = documentAt(path, base.dialect);
      documents.set(key, document);
      return document;
    },
  };
  return site;
}

function parse(path: string, bytes: Buffer, stamp: FileStamp): SchemaFile {
  const problems: Problem[] = [];
  if (!isUtf8(bytes)) return { path, text: '', problems, stamp, root: undefined, syntax: 'it is not UTF-8' };
  const text = bytes.toString('utf8').replace(/^\ufeff/, '');
  if (!path.endsWith('.json')) return { path, text, problems, stamp, root: readPlainYaml(text) };
  try {
    return { path, text, problems, stamp, root: parseStrict(text) };
  } catch (error) {
    const syntax = (error as Error).message.replace(/^Cannot [^:]*: /, '');
    return { path, text, problems, stamp, root: undefined, syntax };
  }
}

const sameProblem = (a: Problem, b: Problem): boolean => a.code === b.code && a.message === b.message;

const MISSING: Refusal = { code: 'ref.missing', fact: 'names a file that is not there' };
const OUTSIDE: Refusal = { code: 'ref.outside', fact: "leads outside of the pack's folder" };
const REFUSED: Refusal = { code: 'ref.unreadable', fact: 'cannot be read' };
const BROKEN: Refusal = { code: 'ref.broken', fact: 'leads to a file that has problems of its own' };
const REMOTE: Refusal = {
  code: 'ref.remote',
  fact: 'leads to another place, and schemas are not fetched',
  hint: 'put a copy into the pack and refer to that',
};
