// Owns: `haft artifacts show`: what is known of one artifact, and what is in a tree.
// Refuses: to verify; that is `haft artifacts verify`.
import { shownSize } from '../../../base/shown-size.ts';
import type { Artifact } from '../../../contract/artifacts.ts';
import { fail } from '../../../contract/errors.ts';
import { table } from '../../../contract/terminal-text.ts';
import { artifactId, artifactToWire } from '../artifact-id.ts';
import type { Command } from '../command.ts';

export const command: Command = {
  summary: 'Show one artifact',
  usage: 'ARTIFACT',
  examples: ['haft artifacts show sha256:…'],
  positionals: [1, 1],
  reads: true,
  async run({ runtime, positionals, io, json }) {
    const id = artifactId(positionals[0]!);
    const artifacts = await (await runtime()).artifacts();
    const artifact = await artifacts.get(id);
    if (!artifact) throw fail('artifact.unknown', `Cannot show ${id}: there is no such artifact`);
    const entries = artifact.kind === 'tree' ? await artifacts.entries(id) : undefined;
    if (json) {
      io.out(`${JSON.stringify({ ...artifactToWire(artifact), ...(entries ? { entries } : {}) })}\n`);
      return 0;
    }
    io.out(
      table([
        ['artifact', id],
        ['kind', artifact.kind === 'tree' ? `tree of ${artifact.files} files` : 'file'],
        ['size', `${shownSize(artifact.size)} (${artifact.size} bytes)`],
        ['first kept', new Date(artifact.createdTs).toISOString()],
        ['last used', new Date(artifact.usedTs).toISOString()],
        ...madeByRows(artifact),
      ]),
    );
    if (entries) {
      const rows = entries.map((one) =>
        one.type === 'dir'
          ? ['', '', `${one.path}/`]
          : [`sha256:${one.sha256}`, String(one.size), `${one.path}${one.executable ? '*' : ''}`],
      );
      io.out(`\n${table(rows)}`);
    }
    return 0;
  },
};

function madeByRows({ madeBy }: Artifact): string[][] {
  if (!madeBy) return [];
  return [
    ['made by', `${madeBy.runId} as "${madeBy.role}"`],
    ['label', `${madeBy.label} (${madeBy.type})`],
  ];
}
