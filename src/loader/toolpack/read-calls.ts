// Owns: the calls that a toolpack brings to be checked with: `calls/*.json`, each with the files that it names; and a workspace to try them in.
// Refuses: files outside of that folder, and to leave that workspace behind.
import { mkdtempSync, readdirSync, realpathSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isRecord } from '../../base/is-record.ts';
import { fail } from '../../contract/errors.ts';
import type { Json, JsonObject } from '../../contract/json.ts';
import { below } from '../../contract/plan.ts';
import { isNotRegular, readRegular, readRegularText } from '../read-regular.ts';
import { CALLS_FOLDER } from './pack-files.ts';

export interface CallFixture {
  /** The name of its file. */
  readonly name: string;
  readonly tool: string;
  /** `file:NAME` stands for the artifact that the file, or the folder, of that name becomes. */
  readonly args: JsonObject;
  readonly files: readonly { readonly name: string; readonly content: CallContent }[];
  /** What the tool has to answer, where that is said. */
  readonly result?: Json;
}

/** The bytes of a file, or all that is in a folder. */
export type CallContent = Uint8Array | readonly FolderPart[];

export interface FolderPart {
  readonly path: string;
  /** Undefined for a folder. */
  readonly bytes: Uint8Array | undefined;
}

export function readCalls(pack: string): readonly CallFixture[] {
  const folder = join(pack, CALLS_FOLDER);
  let names: string[];
  try {
    names = readdirSync(folder).filter((name) => name.endsWith('.json'));
  } catch {
    return [];
  }
  return names.sort().map((name) => readCall(folder, name));
}

function readCall(folder: string, name: string): CallFixture {
  const wrong = (fact: string) => fail('pack.invalid', `Cannot take ${CALLS_FOLDER}/${name}: ${fact}`);
  let given: unknown;
  try {
    given = JSON.parse(readRegularText(join(folder, name)));
  } catch (thrown) {
    throw wrong(isNotRegular(thrown) ? 'it is not a regular file' : 'it is not JSON');
  }
  if (!isRecord(given) || typeof given.tool !== 'string' || !isRecord(given.args))
    throw wrong('it is { "tool", "args", "result" }');
  const { tool, result } = given;
  const args = given.args as JsonObject;
  const files = [...filesIn(args)].map((file) => {
    const place = below('', file);
    if (!place.ok) throw wrong(`"file:${file}": ${place.fact}`);
    try {
      return { name: file, content: readContent(join(folder, place.path)) };
    } catch (thrown) {
      const fact = isNotRegular(thrown)
        ? 'holds, or is, what is neither a file nor a folder'
        : 'is not there';
      throw wrong(`"file:${file}" ${fact}`);
    }
  });
  return { name, tool, args, files, ...(result === undefined ? {} : { result: result as Json }) };
}

function readContent(path: string): CallContent {
  if (!statSync(path).isDirectory()) return readRegular(path);
  const names = readdirSync(path, { recursive: true, encoding: 'utf8' }).sort();
  return names.map((name) => {
    const place = join(path, name);
    return { path: name, bytes: statSync(place).isDirectory() ? undefined : readRegular(place) };
  });
}

function filesIn(value: Json, found = new Set<string>()): ReadonlySet<string> {
  if (typeof value === 'string' && value.startsWith('file:')) found.add(value.slice(5));
  else if (typeof value === 'object' && value !== null)
    for (const one of Object.values(value)) filesIn(one as Json, found);
  return found;
}

interface BenchFolder {
  readonly path: string;
  remove(): void;
}

export function makeBenchFolder(): BenchFolder {
  const path = realpathSync.native(mkdtempSync(join(tmpdir(), 'haft-bench-')));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}
