// Owns: `haft artifacts list`: the newest artifacts, as people read them.
// Refuses: their content; `haft artifacts cat` has it.
import { shownSize } from '../../../base/shown-size.ts';
import { table } from '../../../contract/terminal-text.ts';
import { artifactToWire } from '../artifact-id.ts';
import type { Command } from '../command.ts';
import { wholeNumber } from '../whole-number.ts';

export const command: Command = {
  summary: 'List the newest artifacts',
  usage: '',
  options: { last: { type: 'string', value: 'N', help: 'how many (default: 20)' } },
  examples: ['haft artifacts list', 'haft artifacts list --last 1000 --json'],
  positionals: [0, 0],
  reads: true,
  async run({ runtime, flags, io, json }) {
    const limit = wholeNumber('last', flags.last, 20);
    const found = await (await (await runtime()).artifacts()).list({ limit });
    if (json) {
      const artifacts = found.map(artifactToWire);
      io.out(`${JSON.stringify({ artifacts })}\n`);
    } else if (found.length === 0) io.out('No artifacts yet.\n');
    else {
      const rows = found.map(({ id, kind, files, size, createdTs, madeBy }) => [
        new Date(createdTs).toISOString(),
        kind === 'tree' ? `tree of ${files}` : kind,
        shownSize(size),
        madeBy ? `${madeBy.label} (${madeBy.type})` : '',
        id,
      ]);
      io.out(table(rows, ['WHEN', 'KIND', 'SIZE', 'LABEL', 'ARTIFACT']));
    }
    return 0;
  },
};
