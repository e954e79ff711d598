// Owns: engines made from the text of a haft.yaml, for tests.
// Refuses: the disk; the workspace that such a policy speaks of need not exist.
import assert from 'node:assert/strict';
import { formatDiagnostic } from '../../src/contract/diagnostic.ts';
import type { LoadedPolicy, PolicyFile } from '../../src/contract/policy.ts';
import { checkPolicyText, keepChecked } from '../../src/loader/haft-yaml/check-policy.ts';
import { createReport } from '../../src/loader/yaml/report.ts';
import { createPolicyEngine, type GrantingEngine } from '../../src/policy/create-policy-engine.ts';

export const WORKSPACE = '/home/user/project';

/** As the loader would hand it over, for a workspace that need not exist. */
export async function policyFrom(text: string): Promise<LoadedPolicy> {
  const report = createReport('haft.yaml');
  const checked = await checkPolicyText(text, report);
  assert.ok(checked && !report.failed, report.diagnostics().map(formatDiagnostic).join('\n'));
  const { file, lines } = keepChecked(checked, report);
  const absolute = (path: string) =>
    path.startsWith('/') ? path : new URL(path, `file://${WORKSPACE}/`).pathname;
  const packs = (file.packs ?? []).filter((pack) => typeof pack === 'string').map(absolute);
  const resolved = { workspace: WORKSPACE, extraRoots: (file.paths?.extra_roots ?? []).map(absolute), packs };
  return { file, name: 'haft.yaml', lines, sha256: '', resolved };
}

/** `lines` follow `version: 1`. */
export async function engineFrom(
  lines: string,
  narrowing: readonly PolicyFile[] = [],
): Promise<GrantingEngine> {
  const engine = createPolicyEngine({ loaded: await policyFrom(`version: 1\n${lines}\n`), narrowing });
  await engine.ready([{ kind: 'exec', command: '' }]);
  return engine;
}
