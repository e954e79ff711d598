// Owns: what a call is known by: the names of its paths, the hashes of its arguments and result and, if deterministic, its run id.
// Refuses: anything that may differ between two equal calls, and a look at the disk: where links lead is asked when a path is opened.
import { canonicalJson } from '../base/canonical-json.ts';
import { digest, sha256Hex } from '../base/digest.ts';
import { isUnder, normalizeRelPath, parentOf } from '../base/rel-path.ts';
import { runId } from '../base/run-id.ts';
import { type Failure, fail, isFailure } from '../contract/errors.ts';
import type { JsonObject } from '../contract/json.ts';
import type { LoadedPolicy } from '../contract/policy.ts';
import type { AnyTool, ToolContract } from '../contract/tool.ts';
import { renderGrant } from '../policy/grant.ts';

export interface ArgsIdentity {
  readonly hash: string;
  readonly bytes: number;
}

/** Throws `input.not_canonical` for what has no canonical form. */
function identifyArgs(args: unknown): ArgsIdentity {
  const bytes = canonicalJson(args);
  return { hash: digest('params/v1', bytes), bytes: bytes.length };
}

/** An embedding program can hand over an object whose properties throw: that is no bug of Haft. */
export function readArgs(tool: string, sent: JsonObject) {
  try {
    return { identity: identifyArgs(sent), args: { ...sent } };
  } catch (thrown) {
    if (isFailure(thrown)) throw thrown;
    throw fail('input.not_canonical', `Cannot call "${tool}": reading its arguments failed; send plain JSON`);
  }
}

export interface RunIdentity {
  readonly runId: string;
  readonly preimage: JsonObject;
}

/** Programs of another platform are other programs. Every backend runs those of this one. */
const PLATFORM = `${process.platform}/${process.arch}`;

/** `params` are the arguments with defaults filled in, so that leaving a default out is the same run, or all that stands for them. */
export function identifyRun(tool: ToolContract, params: unknown, policyHash: string): RunIdentity {
  const paramsHash = identifyArgs(params).hash;
  const preimage = {
    tool: tool.id,
    contractVersion: tool.contract,
    policyHash,
    paramsHash,
    platform: PLATFORM,
  };
  return { runId: runId(preimage), preimage: { ...preimage, params: params as JsonObject } };
}

/**
 * What the run of a tool that is not prepared depends on: its arguments, or what it says stands for them, its code, and what
 * it may read. Undefined where that cannot be known: then there is no run.
 */
export async function runParams(tool: AnyTool, args: JsonObject): Promise<JsonObject | undefined> {
  const inputs = await tool.runInputs?.(args as never);
  if (!inputs) return args;
  const { code, key, reads, unknown } = inputs;
  if (unknown !== undefined) return undefined;
  return { code, ...(reads ? { reads } : {}), ...(key === undefined ? { args } : { key }) };
}

/** A folder of `paths.extra_roots`: as it is written there, and where that really is. */
interface ExtraRoot {
  readonly written: string;
  readonly real: string;
}

export const extraRootsOf = ({ file, resolved }: LoadedPolicy): readonly ExtraRoot[] =>
  (resolved?.extraRoots ?? []).map((real, at) => ({ written: file.paths?.extra_roots?.[at] ?? real, real }));

/** Answers a function that throws `path.invalid` or `path.outside_workspace`. The roots are asked for anew each time. */
export function createPlace(root: string, extraRoots: () => readonly ExtraRoot[]): (path: string) => string {
  return (path) => {
    if (!path.startsWith('/')) {
      const inside = normalizeRelPath(path);
      if (inside.ok) return inside.path;
      if (inside.reason !== 'path.outside_workspace') throw fail(inside.reason, inside.message);
    }
    const absolute = absoluteOf(root, path);
    if (absolute === undefined) throw outside(path, undefined);
    if (isUnder(absolute, root)) return absolute === root ? '.' : absolute.slice(root.length + 1);
    for (const { written, real } of extraRoots()) {
      if (isUnder(absolute, real)) return absolute;
      const named = absoluteOf(root, written);
      if (named !== undefined && isUnder(absolute, named)) return real + absolute.slice(named.length);
    }
    throw outside(path, folderToName(root, path, absolute));
  };
}

/** Undefined where it climbs out of everything. */
function absoluteOf(root: string, path: string): string | undefined {
  const whole = path.startsWith('/') ? path : `${root}/${path}`;
  const normal = normalizeRelPath(whole.replace(/^\/+/, '') || '.');
  if (normal.ok) return normal.path === '.' ? '/' : `/${normal.path}`;
  if (normal.reason !== 'path.outside_workspace') throw fail(normal.reason, normal.message);
  return undefined;
}

const LONGEST_LINE = 400;

/**
 * The folder that holds the path, as the caller would name it: who said `../x/y` is told of `../x`, not where that is on
 * this machine. Undefined where it also holds the workspace: as a root it would be refused.
 */
function folderToName(root: string, path: string, absolute: string): string | undefined {
  const folder = parentOf(absolute);
  if (folder === '' || isUnder(root, folder) || folder.length > LONGEST_LINE) return undefined;
  if (path.startsWith('/')) return folder;
  const names: string[] = [];
  for (const name of path.split('/')) {
    const climbs = name === '..' && (names.at(-1) ?? '..') === '..';
    if (name === '..' && !climbs) names.pop();
    else if (name !== '' && name !== '.') names.push(name);
  }
  return names.slice(0, -1).join('/');
}

/** The caller named the path itself, so naming the folder that it is in tells nothing new. */
function outside(path: string, folder: string | undefined): Failure {
  const fact = path.startsWith('/') ? 'it is outside of the workspace' : 'it leads out of the workspace';
  return fail('path.outside_workspace', `Cannot use the path: ${fact}`, {
    rule: 'paths.extra_roots',
    ...(folder === undefined ? {} : { admit: renderGrant({ paths: { extra_roots: [folder] } }) }),
  });
}

/** Plain SHA-256 of its canonical JSON, which is what `result.json` of a bundle holds. Undefined where it has none. */
export function resultDigest(data: unknown): `sha256:${string}` | undefined {
  try {
    return `sha256:${sha256Hex(canonicalJson(data))}`;
  } catch (thrown) {
    if (isFailure(thrown)) return undefined;
    throw thrown;
  }
}
