// Owns: `haft.lock` as text: the same bytes for the same tools, a line for each value, so that a diff of it reads well.
// Refuses: a file that was merged or edited into something else; it would rather not start than guess.
import { parseStrict } from '../../base/strict-json.ts';
import { type Failure, fail } from '../../contract/errors.ts';
import type { LockFile } from '../../contract/lock.ts';

export function renderLock(lock: LockFile): string {
  const { version, packs, tools } = lock;
  return `${JSON.stringify({ version, packs: sorted(packs), tools: sorted(tools) }, null, 2)}\n`;
}

/** Throws `lockfile.invalid`. */
export function parseLock(text: string): LockFile {
  if (/^(<{7}|={7}|>{7})/m.test(text)) throw invalid('it holds the marks of a merge conflict');
  let value: unknown;
  try {
    value = parseStrict(text);
  } catch (thrown) {
    throw invalid((thrown as Error).message.replace(/^Cannot parse the text as JSON: /, 'it is not JSON: '));
  }
  const problem = problemOf(value);
  if (problem !== undefined) throw invalid(problem);
  return value as LockFile;
}

function problemOf(value: unknown): string | undefined {
  if (!isMap(value)) return 'it is no JSON object';
  if (value.version !== 1) return `it is of version ${JSON.stringify(value.version)}, and this Haft knows 1`;
  const { packs, tools } = value;
  if (!isMap(packs) || !isMap(tools)) return 'it has no packs or no tools';
  for (const [name, pack] of Object.entries(packs)) {
    const fine =
      isMap(pack) &&
      typeof pack.origin === 'string' &&
      typeof pack.config === 'string' &&
      (pack.files === undefined || isMap(pack.files));
    if (!fine) return `packs: "${name.slice(0, 80)}" is not what Haft writes`;
  }
  for (const [id, tool] of Object.entries(tools)) {
    const fine =
      isMap(tool) &&
      typeof tool.pack === 'string' &&
      typeof tool.digest === 'string' &&
      isMap(tool.definition) &&
      (tool.files === undefined || isMap(tool.files));
    if (!fine) return `tools: "${id.slice(0, 80)}" is not what Haft writes`;
  }
  return undefined;
}

const invalid = (fact: string): Failure =>
  fail(
    'lockfile.invalid',
    `Cannot read haft.lock: ${fact}; mend it, or remove it and look at what "haft tools lock" writes anew`,
  );

const isMap = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Names in order, all the way down; lists stay as they are. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isMap(value)) return value;
  // `fromEntries` keeps a key `__proto__` as what it is: a key.
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((name) => [name, sorted(value[name])]),
  );
}
