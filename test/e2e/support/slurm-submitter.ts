// Owns: a process that submits attempts to Slurm and waits for them, to be killed at any instant.
// Refuses: to tidy up. Told on the command line: a JSON file with the cluster's environment, the root and the attempts.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createSlurmBackend } from '../../../src/backends/slurm/slurm-backend.ts';
import { createLocalRunner } from '../../../src/backends/slurm/slurm-client.ts';
import type { Attempt } from '../../../src/contract/backend.ts';

export interface SubmitterTask {
  readonly env: Readonly<Record<string, string>>;
  readonly root: string;
  readonly attempts: readonly Attempt[];
}

const { env, root, attempts }: SubmitterTask = JSON.parse(readFileSync(process.argv[2]!, 'utf8'));
const backend = await createSlurmBackend({
  run: createLocalRunner({ env }),
  scope: root,
  folder: join(root, 'slurm'),
  settleMs: 400,
  pollMs: 150,
});
process.stdout.write('go\n');
await Promise.all(
  attempts.map(async (attempt) => {
    const handle = (await backend.find(attempt)) ?? (await backend.start(attempt));
    const end = await handle.wait(new AbortController().signal);
    process.stdout.write(`${JSON.stringify({ id: attempt.id, end })}\n`);
  }),
);
await backend.close();
