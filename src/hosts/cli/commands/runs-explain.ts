// Owns: `haft runs explain`: in words, why two runs are not the same one.
// Refuses: hashes of hashes; what is derived from a field that differs is left out.
import type { Json } from '../../../contract/json.ts';
import type { FieldDifference } from '../../../contract/runs.ts';
import type { Command } from '../command.ts';
import { findRun, shortRun } from '../find-run.ts';

export const command: Command = {
  summary: 'Say why two runs are not the same',
  usage: 'A [B]',
  description:
    'Names every field that differs: a parameter, an input, the image, the code of the toolpack, its policy. Without B, A is held against the newest other run of the same tool.',
  examples: ['haft runs explain run_3fa1 run_77c0', 'haft runs explain 3fa1 --json'],
  positionals: [1, 2],
  async run({ runtime, positionals, io, json }) {
    const { runs } = await runtime();
    const [first, second] = await Promise.all(positionals.map((given) => findRun(runs, given)));
    const { a, b, differences } = await runs.explain(first!, second);
    if (json) io.out(`${JSON.stringify({ a, b, differences })}\n`);
    else if (b === null) io.out(`There is no other run of the tool of ${shortRun(a)}.\n`);
    else if (a === b || differences.length === 0) io.out('They are the same run.\n');
    else {
      const many = differences.length === 1 ? 'one field' : `${differences.length} fields`;
      io.out(`${shortRun(a)} and ${shortRun(b)} differ in ${many}:\n`);
      io.out(differences.map(sentence).join(''));
    }
    return 0;
  },
};

const sentence = ({ field, a, b }: FieldDifference): string =>
  `  ${field}: ${shown(a)} in the first, ${shown(b)} in the second\n`;

const LONGEST = 200;

function shown(value: Json | undefined): string {
  if (value === undefined) return 'nothing';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text;
}
