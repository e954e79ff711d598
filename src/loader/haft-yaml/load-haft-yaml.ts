// Owns: haft.yaml from the disk to a policy: all that is wrong at once, or the whole policy with the place of every rule.
// Refuses: a policy with any error in it, and heavy libraries where the checked policy is in the cache.
import { basename, isAbsolute, join, relative } from 'node:path';
import { sha256Hex } from '../../base/digest.ts';
import type { LoadResult } from '../../contract/manifest.ts';
import type { LoadedPolicy } from '../../contract/policy.ts';
import { isWithin } from '../is-within.ts';
import { decodeText } from '../yaml/decode-text.ts';
import { createReport, type Report } from '../yaml/report.ts';
import { checkEffects } from './check-effects.ts';
import { checkEnvironment } from './check-environment.ts';
import { checkValidators } from './check-validators.ts';
import type { Draft } from './draft.ts';
import {
  type CheckedPolicy,
  readCachedPolicy,
  readLastPolicy,
  writeCachedPolicy,
  writeLastPolicy,
} from './policy-cache.ts';
import { checkOutOfReach, readPolicyFile } from './read-policy-file.ts';

export interface LoadHaftYamlOptions {
  readonly workspace: string;
  /** Another file than `haft.yaml`, relative to the workspace or absolute; it must exist. */
  readonly file?: string;
  /** Where checked policies are kept; `.haft/cache/policy` of the workspace. */
  readonly cacheFolder?: string;
  /** Reads the text itself, whatever the cache says: for whoever goes by the file's bytes alone. */
  readonly fresh?: boolean;
  /** Ids of the rules that this host can run; without it nothing is said about rules that are not built in. */
  readonly availableRules?: readonly string[];
}

const START = { line: 1, column: 1 };
/** Of no bytes: where there is no file. */
const EMPTY_SHA256 = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

export async function loadHaftYaml(options: LoadHaftYamlOptions): Promise<LoadResult<LoadedPolicy>> {
  const { workspace, file = 'haft.yaml' } = options;
  const path = isAbsolute(file) ? file : join(workspace, file);
  const name = isWithin(path, workspace) ? relative(workspace, path) : basename(path);
  const report = createReport(name);
  const bytes = readPolicyFile(path, workspace, report);
  if (!bytes) {
    if (options.file !== undefined && !report.failed)
      report.error('file.missing', START, 'It does not exist');
    if (report.failed) return { value: undefined, diagnostics: report.diagnostics() };
    return { value: defaultPolicy(workspace), diagnostics: [] };
  }
  const cacheFolder = options.cacheFolder ?? join(workspace, '.haft', 'cache', 'policy');
  const isUsual = options.file === undefined;
  const last = options.fresh || !isUsual ? undefined : readLastPolicy(cacheFolder, bytes);
  const sha256 = last?.sha256 ?? sha256Hex(bytes);
  const cached = options.fresh ? undefined : (last ?? readCachedPolicy(cacheFolder, sha256));
  if (cached) {
    if (!last && isUsual) writeLastPolicy(cacheFolder, bytes, sha256, cached);
    for (const { code, message, hint, ...at } of cached.warnings) report.warn(code, at, message, hint);
    return finish(cached, cached.file as Draft, { ...options, path, name, sha256, report });
  }
  const text = decodeText(bytes, report);
  const { checkPolicyText, keepChecked } = await import('./check-policy.ts');
  const checked = text === undefined ? undefined : await checkPolicyText(text, report);
  if (!checked) return { value: undefined, diagnostics: report.diagnostics() };
  const kept = keepChecked(checked, report);
  if (!report.failed) writeCachedPolicy(cacheFolder, sha256, kept);
  return finish(kept, checked.draft, { ...options, path, name, sha256, report });
}

/** The policy of a workspace without haft.yaml: read and write in it, and nothing else. */
export function defaultPolicy(workspace: string): LoadedPolicy {
  const site = { report: createReport('(defaults)'), compilePattern: undefined, place: () => START };
  const resolved = checkEnvironment({}, workspace, site);
  return { file: { version: 1 }, name: '(defaults)', lines: {}, sha256: EMPTY_SHA256, resolved };
}

/** Reads the file again. Where it has errors, the policy from before stays and the errors are told. */
export async function reloadHaftYaml(
  previous: LoadedPolicy,
  options: LoadHaftYamlOptions,
): Promise<LoadResult<LoadedPolicy> & { readonly policy: LoadedPolicy; readonly changed: boolean }> {
  const result = await loadHaftYaml(options);
  const changed = result.value !== undefined && result.value.sha256 !== previous.sha256;
  return { ...result, policy: result.value ?? previous, changed };
}

interface FinishSite extends LoadHaftYamlOptions {
  readonly path: string;
  readonly name: string;
  readonly sha256: string;
  readonly report: Report;
}

function finish(checked: CheckedPolicy, draft: Draft, site: FinishSite): LoadResult<LoadedPolicy> {
  const { workspace, availableRules, path, name, sha256, report } = site;
  const { file, lines, columns } = checked;
  const place = (path: string) => ({ line: lines[path] ?? 1, column: columns[path] ?? 1 });
  const draftSite = { report, compilePattern: undefined, place };
  const resolved = checkEnvironment(draft, workspace, draftSite);
  checkValidators(draft, availableRules, draftSite);
  // Not kept with the checked policy: the next version may give a key its effect.
  if (availableRules) checkEffects(draft, draftSite);
  checkOutOfReach(path, resolved, report);
  const diagnostics = report.diagnostics();
  if (report.failed) return { value: undefined, diagnostics };
  return { value: { file, name, lines, sha256, resolved }, diagnostics };
}
