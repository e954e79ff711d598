// Owns: a long-lived host's workspace: haft.yaml, haft.lock and the packs are read again when they change, and problems are told.
// Refuses: what has an error or is not trusted: that which held before stays, and that is said.
import { formatDiagnostic } from '../contract/diagnostic.ts';
import { toErrorEntry } from '../contract/errors.ts';
import { outerFolders } from '../loader/haft-yaml/outer-folders.ts';
import { onPacksChanged } from '../loader/notices.ts';
import { watchFiles } from '../loader/watch-files.ts';
import { closedPolicy } from './adopt-policy.ts';
import type { DefaultRuntime } from './default.ts';
import { trustFilesOf } from './trust/trust.ts';

/** Answers the function that ends it. `taken` is called when something else holds, or tools are others than before. */
export function followWorkspace(
  runtime: DefaultRuntime,
  say: (text: string) => void,
  taken: () => void = () => {},
): () => void {
  const policy = async () => {
    const before = runtime.policy.current;
    const diagnostics = await runtime.reloadPolicy();
    for (const one of diagnostics) say(`${formatDiagnostic(one)}\n`);
    if (runtime.policy.current === before)
      return say('haft: haft.yaml has problems; the policy from before stays\n');
    say('haft: haft.yaml was read again\n');
    taken();
  };
  const packs = async () => {
    await runtime.reloadPacks();
    say('haft: the packs were read again\n');
  };
  /** Something was not taken over because nobody trusts it. */
  let waiting = false;
  const orSay = (work: () => Promise<void>) => () =>
    void work().catch((thrown) => {
      const { message, reason } = toErrorEntry(thrown);
      waiting ||= reason === 'policy.untrusted';
      say(`haft: ${message}\n${reason === 'policy.untrusted' ? 'haft: the policy from before stays\n' : ''}`);
    });
  /** Where what holds was trusted by a record that is gone, nothing may be called until it is trusted again. */
  const revoked = orSay(async () => {
    const before = runtime.policy.current;
    try {
      await runtime.reloadPolicy();
    } catch (thrown) {
      if (toErrorEntry(thrown).reason !== 'policy.untrusted') throw thrown;
    }
    if (runtime.policy.current !== before) return taken();
    await runtime.policy.replace(closedPolicy(runtime.workspace));
    waiting = true;
    say('haft: the policy is trusted no longer; every tool is denied until somebody trusts it again\n');
    taken();
  });
  const follow = { 'haft.yaml': orSay(policy), 'haft.lock': orSay(packs) } as const;
  const files = Object.keys(follow) as (keyof typeof follow)[];
  const ends = [
    followTrust(runtime.workspace, () => {
      if (!trustFilesOf(runtime.workspace).read()) return revoked();
      if (!waiting) return;
      waiting = false;
      follow['haft.yaml']();
    }),
    watchFiles(runtime.workspace, files, (name) => follow[name as keyof typeof follow]()),
    ...outerFolders(runtime.workspace).map(({ folder }) =>
      watchFiles(folder, ['haft.yaml'], follow['haft.yaml']),
    ),
    onPacksChanged(runtime.workspace, follow['haft.lock']),
    runtime.subscribe(({ event }) => {
      if (event === 'ToolsChanged') taken();
    }),
  ];
  return () => {
    for (const end of ends) end();
  };
}

/** Calls when somebody trusted the workspace's policy, or trusts it no longer. Answers the function that ends it. */
export function followTrust(workspace: string, changed: () => void): () => void {
  const file = trustFilesOf(workspace).prepare();
  return file ? watchFiles(file.folder, [file.name], changed) : () => {};
}
