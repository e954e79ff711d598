// Owns: `haft audit export`: the whole audit as JSON lines.
// Refuses: to hold it in memory.
import { auditRowToWire } from '../../../contract/spelling.ts';
import type { Command } from '../command.ts';

const PAGE = 1000;

export const command: Command = {
  summary: 'Write every audit row as one line of JSON',
  usage: '',
  examples: ['haft audit export > audit.jsonl'],
  positionals: [0, 0],
  reads: true,
  async run({ runtime, io }) {
    const { audit } = await runtime();
    for (let afterSeq = 0; ; ) {
      const rows = await audit.rows({ afterSeq, limit: PAGE });
      io.out(rows.map((row) => `${JSON.stringify(auditRowToWire(row))}\n`).join(''));
      if (rows.length < PAGE || io.signal.aborted) return 0;
      afterSeq = rows.at(-1)!.seq;
    }
  },
};
