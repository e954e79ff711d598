// Owns: haft.yaml from the disk to a policy: all that is wrong at once, or the whole policy with the place of every rule.
// Refuses: a policy with any error in it, and heavy libraries where the checked policy is in the cache.
import { closeSync, constants, fstatSync, lstatSync, openSync, readFileSync, realpathSync } from 'node:fs';
import { basename, isAbsolute, join, relative } from 'node:path';
import { sha256Hex } from '../../base/digest.ts';
import type { LoadResult } from '../../contract/manifest.ts';
import type { LoadedPolicy } from '../../contract/policy.ts';
import type { Draft, DraftSite } from '../../policy/section.ts';
import { isWithin } from '../is-within.ts';
import { readOwnCache, writeOwnCache } from '../own-cache.ts';
import { decodeText } from '../yaml/decode-text.ts';
import { createReport, type Report } from '../yaml/report.ts';
import { checkEnvironment, type Resolved, siteOf } from './check-environment.ts';
import type { CheckedPolicy } from './check-policy.ts';

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

const MAX_BYTES = 1024 * 1024;
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
  const cached = options.fresh
    ? undefined
    : (last ?? readOwnCache<CheckedPolicy>(cacheFolder, sha256, FORMAT));
  if (cached) {
    if (!last && isUsual)
      writeOwnCache<LastPolicy>(cacheFolder, 'last', FORMAT, { ...cached, sha256, bytes: asText(bytes) });
    for (const { code, message, hint, ...at } of cached.warnings) report.warn(code, at, message, hint);
    return finish(cached, cached.file as Draft, { ...options, path, name, sha256, report });
  }
  const text = decodeText(bytes, report);
  const { checkPolicyText, keepChecked } = await import('./check-policy.ts');
  const checked = text === undefined ? undefined : await checkPolicyText(text, report);
  if (!checked) return { value: undefined, diagnostics: report.diagnostics() };
  const kept = keepChecked(checked, report);
  if (!report.failed) writeOwnCache<CheckedPolicy>(cacheFolder, sha256, FORMAT, kept);
  return finish(kept, checked.draft, { ...options, path, name, sha256, report });
}

/** The policy of a workspace without haft.yaml: read and write in it, and nothing else. */
export function defaultPolicy(workspace: string): LoadedPolicy {
  const site = siteOf(createReport('(defaults)'), () => START);
  const resolved = checkEnvironment({}, workspace, site);
  return { file: { version: 1 }, name: '(defaults)', lines: {}, sha256: EMPTY_SHA256, resolved };
}

type FinishSite = LoadHaftYamlOptions &
  Record<'path' | 'name' | 'sha256', string> & { readonly report: Report };

async function finish(
  checked: CheckedPolicy,
  draft: Draft,
  given: FinishSite,
): Promise<LoadResult<LoadedPolicy>> {
  const { workspace, availableRules, path, name, sha256, report } = given;
  const { file, lines, columns } = checked;
  const site = siteOf(report, (at) => ({ line: lines[at] ?? 1, column: columns[at] ?? 1 }));
  const resolved = checkEnvironment(draft, workspace, site);
  // Not kept with the checked policy: the next version may give a key its effect.
  if (BUILD_KEYS.some((key) => Object.hasOwn(draft, key))) await checkBuild(draft, availableRules, site);
  checkOutOfReach(path, resolved, report);
  const diagnostics = report.diagnostics();
  if (report.failed) return { value: undefined, diagnostics };
  return { value: { file, name, lines, sha256, resolved }, diagnostics };
}

async function checkBuild(
  draft: Draft,
  rules: readonly string[] | undefined,
  site: DraftSite,
): Promise<void> {
  const { SECTIONS } = await import('../../policy/sections/index.ts');
  for (const section of SECTIONS) section.checkBuild?.(draft, rules, site);
  // Who uses a key that nothing looks at yet is told, where it is a host.
  if (!rules) return;
  for (const [path, because] of SECTIONS.flatMap(({ unused = {} }) => Object.entries(unused))) {
    const [section = '', key = ''] = path.split('.');
    const written = (draft as { readonly [section: string]: unknown })[section];
    if (typeof written !== 'object' || written === null || !Object.hasOwn(written, key)) continue;
    site.warn('key.no_effect', path, `${path} has no effect yet: ${because}`);
  }
}

// -------------------------------------------------------------------------------------------- the file

/** Undefined where there is nothing, or where it was reported why it cannot be read. */
function readPolicyFile(path: string, workspace: string, report: Report): Uint8Array | undefined {
  let descriptor: number | undefined;
  try {
    if (
      lstatSync(path).isSymbolicLink() &&
      isWithin(realpathSync.native(path), realpathSync.native(workspace))
    ) {
      const message = 'It is a link to another file in the workspace, which tools could write';
      report.error('file.link', START, message, 'put the file itself here');
      return undefined;
    }
    descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const stat = fstatSync(descriptor);
    if (!stat.isFile()) {
      report.error('file.not_regular', START, 'It is not a regular file');
      return undefined;
    }
    if (stat.size > MAX_BYTES) {
      report.error('file.too_large', START, `It is ${stat.size} bytes, over the limit of ${MAX_BYTES}`);
      return undefined;
    }
    return readFileSync(descriptor);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT') report.error('file.unreadable', START, `It cannot be read (${code})`);
    return undefined;
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

/** A file that lies below an extra root, or is a link to there, could be written by the tools that it binds. */
function checkOutOfReach(path: string, { workspace, extraRoots }: Resolved, report: Report): void {
  if (extraRoots.length === 0) return;
  const real = realpathSync.native(path);
  if (isWithin(real, workspace) || !extraRoots.some((root) => isWithin(real, root))) return;
  report.error('file.link', START, 'It lies below one of paths.extra_roots, where tools could write it');
}

// ------------------------------------------------------------------------------------------- the cache

/** To be counted up whenever a file that was good would now be read otherwise or refused. */
const FORMAT = 5;

/** The policy that was loaded last, known by its bytes: to hash them costs a cold start 2 ms. */
interface LastPolicy extends CheckedPolicy {
  readonly sha256: string;
  readonly bytes: string;
}

function readLastPolicy(folder: string, bytes: Uint8Array): LastPolicy | undefined {
  const last = readOwnCache<LastPolicy>(folder, 'last', FORMAT);
  return last?.bytes === asText(bytes) ? last : undefined;
}

/** One character for each byte. */
const asText = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');

export const BUILD_KEYS: readonly string[] = ['git', 'ast', 'validators'];
