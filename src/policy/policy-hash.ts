// Owns: the identity of a policy: of its whole meaning, and of what can change the output of one tool.
// Refuses: spelling; order of rules, defaults that were written out and examples change nothing.
import { canonicalJson } from '../base/canonical-json.ts';
import { digest } from '../base/digest.ts';
import type { PolicyFile } from '../contract/policy.ts';
import type { Section } from './section.ts';
import { SECTIONS } from './sections/index.ts';

/** `policy/v1` digest of the whole file's meaning. */
export function hashPolicy(host: PolicyFile, narrowing: readonly PolicyFile[]): string {
  const meaning =
    narrowing.length === 0 ? meaningOf(host) : { host: meaningOf(host), narrowing: narrowing.map(meaningOf) };
  return digest('policy/v1', canonicalJson(meaning));
}

/**
 * Canonical JSON of the grants and limits that hold for this tool. An approved call does what an allowed one does, so
 * `ask` counts as `allow`, except of paths: nobody is asked when a program opens a file, so an `ask` closes it to programs
 * as a `deny` does. Budgets, approvals, undo, validators and other tools are not in it.
 */
export function writeProjection(
  tool: string,
  host: PolicyFile,
  narrowing: readonly PolicyFile[],
): Uint8Array {
  const silent = JSON.stringify(projectionOf(tool, { version: 1 }, false));
  const narrower = narrowing
    .map((file) => projectionOf(tool, file, false))
    .filter((projection) => JSON.stringify(projection) !== silent);
  return canonicalJson([projectionOf(tool, host, true), ...narrower]);
}

const meaningOf = (file: PolicyFile): object =>
  Object.assign({}, ...SECTIONS.map((section) => meaningIn(section, file)));

/** Of the host what is absent is not granted; of a session what is absent says nothing. */
const projectionOf = (tool: string, file: PolicyFile, complete: boolean): object =>
  Object.assign(
    {},
    ...SECTIONS.map((section) => section.project?.(file, tool, complete) ?? meaningIn(section, file)),
  );

function meaningIn(section: Section, file: PolicyFile): object {
  const value = file[section.key];
  const meaning = section.meaning ? section.meaning(value) : value;
  return meaning === undefined ? {} : { [section.key]: meaning };
}
