// Owns: a long-lived host's workspace: haft.yaml, haft.lock and the packs are read again when they change, and problems are told.
// Refuses: what has an error: that which held before stays, and that is said.
import { formatDiagnostic } from '../../contract/diagnostic.ts';
import { toErrorEntry } from '../../contract/errors.ts';
import { onPacksChanged } from '../../loader/notices.ts';
import { watchFiles } from '../../loader/watch-files.ts';
import type { DefaultRuntime } from '../../preset/default.ts';

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
  const orSay = (work: () => Promise<void>) => () =>
    void work().catch((thrown) => say(`haft: ${toErrorEntry(thrown).message}\n`));
  const follow = { 'haft.yaml': orSay(policy), 'haft.lock': orSay(packs) } as const;
  const files = Object.keys(follow) as (keyof typeof follow)[];
  const ends = [
    watchFiles(runtime.workspace, files, (name) => follow[name as keyof typeof follow]()),
    onPacksChanged(runtime.workspace, follow['haft.lock']),
    runtime.subscribe(({ event }) => {
      if (event === 'ToolsChanged') taken();
    }),
  ];
  return () => {
    for (const end of ends) end();
  };
}
