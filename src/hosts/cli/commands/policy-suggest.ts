// Owns: `haft policy suggest`: haft.yaml lines that would have admitted the calls that were denied.
// Refuses: to write them: a person decides which.

import { createPolicyEngine } from '../../../policy/create-policy-engine.ts';
import { type Suggestions, suggestPolicy } from '../../../policy/suggest.ts';
import type { Command } from '../command.ts';
import { wholeNumber } from '../whole-number.ts';

export const command: Command = {
  summary: 'Propose haft.yaml lines from calls that were denied',
  usage: '',
  description:
    'Prints lines to merge into haft.yaml. Denied calls for which none is offered are counted, with the reason: paths outside of the workspace, which the audit does not keep, and what nothing admits.',
  options: {
    last: { type: 'string', value: 'N', help: 'look at this many of the newest audit rows (default: 1000)' },
  },
  examples: ['haft policy suggest', 'haft policy suggest --last 50 --json'],
  positionals: [0, 0],
  lenient: true,
  async run({ runtime, io, json, flags }) {
    const { audit, policy } = await runtime();
    const rows = await audit.rows({ last: wholeNumber('last', flags.last, 1000) });
    const found = await suggestPolicy(rows, createPolicyEngine({ loaded: policy.current.loaded }));
    if (json) io.out(`${JSON.stringify(found)}\n`);
    else {
      io.out(found.suggestions.length === 0 ? 'Nothing to suggest.\n' : describe(found));
      io.out(found.unoffered.map(describeUnoffered).join(''));
    }
    return 0;
  },
};

/** One piece to paste, each entry once; behind it, how many calls want it. */
function describe({ admit, suggestions }: Suggestions): string {
  const all = suggestions.reduce((sum, { calls }) => sum + calls, 0);
  const head = `# ${count(all)} ${all === 1 ? 'was' : 'were'} not admitted. Merge these lines into haft.yaml; where an entry is there already, change it: the strictest one counts.`;
  const lines = admit.trimEnd().split('\n');
  return `${[head, ...lines.map((line) => `${line}${wanted(line, suggestions)}`)].join('\n')}\n`;
}

/** As comments, so that all of it can be pasted. */
function describeUnoffered({ reason, calls, tools }: Suggestions['unoffered'][number]): string {
  const what = `# ${count(calls)} of ${tools.join(', ')} ${calls === 1 ? 'was' : 'were'} denied, and no line is offered`;
  if (reason !== 'path.outside_workspace') return `${what}: nothing in haft.yaml admits them (${reason}).\n`;
  return [
    `${what}: the path lies outside of the workspace (${reason}).`,
    '# The audit does not keep such paths, and one line opens a whole folder: look at the call, then name the folder it needs, and no more:',
    '#   paths:',
    '#     extra_roots:',
    '#       - ../FOLDER',
    '',
  ].join('\n');
}

function wanted(line: string, suggestions: Suggestions['suggestions']): string {
  if (!line.trimStart().startsWith('- ')) return '';
  const by = suggestions.filter((one) => one.admit.split('\n').includes(line));
  if (by.length === 0) return '';
  const tools = [...new Set(by.flatMap((one) => one.tools))].sort();
  return `  # ${count(by.reduce((sum, { calls }) => sum + calls, 0))} of ${tools.join(', ')}`;
}

const count = (calls: number): string => `${calls} call${calls === 1 ? '' : 's'}`;
