// Owns: `code.no.merge_markers`: no file that a call wrote holds the markers of an unfinished merge.
// Refuses: files over 1 MiB, which nobody merges by hand.
import type { RuleDefinition, RuleSubject, Violation } from '../../src/contract/rule.ts';

const MARKER = /^(<{7}|>{7}) /;
const LARGEST = 1024 * 1024;

export const rule: RuleDefinition = {
  id: 'code.no.merge_markers',
  category: 'Hygiene',
  level: 'warning',
  description: 'Files hold no marker of an unfinished merge.',
  triggers: ['file_write', 'file_edit', 'file_patch'],
  async check({ changes, files }) {
    const found: Violation[] = [];
    for (const { path, after } of changes) {
      if (after?.type !== 'file' || after.size > LARGEST) continue;
      found.push(...(await violations(path, files)));
    }
    return found;
  },
};

async function violations(path: string, files: RuleSubject['files']): Promise<Violation[]> {
  const { bytes } = await files.read(path, { maxBytes: LARGEST });
  const lines = new TextDecoder().decode(bytes).split('\n');
  return lines.flatMap((line, i) =>
    MARKER.test(line)
      ? [{ rule: rule.id, path, line: i + 1, message: 'a marker of an unfinished merge' }]
      : [],
  );
}
