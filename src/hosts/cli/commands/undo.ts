// Owns: `haft undo`: the tool `undo`, from the command line.
// Refuses: to be more than that call; policy and audit see it like any other.
import { toToolResponse } from '../../../contract/envelope.ts';
import { ERRORS } from '../../../contract/errors.ts';
import { describeError } from '../../../contract/terminal-text.ts';
import type { Command } from '../command.ts';

export const command: Command = {
  summary: 'Take back what a call changed',
  usage: 'CALL',
  description:
    'Restores exactly what that call changed, and refuses, with the difference, when something changed since. ' +
    'CALL is the call_id of an answer; haft audit list shows them.',
  options: { 'dry-run': { type: 'boolean', help: 'show the difference and change nothing' } },
  examples: ['haft undo call_0123456789abcdefghij', 'haft undo call_0123456789abcdefghij --dry-run'],
  positionals: [1, 1],
  lenient: true,
  async run({ runtime, positionals, flags, io, json }) {
    const args = { call_id: positionals[0]!, ...(flags['dry-run'] ? { dry_run: true } : {}) };
    const response = await (await runtime()).call({ tool: 'undo', args }, { signal: io.signal });
    const [error] = response.errors;
    if (json) io.out(`${JSON.stringify(toToolResponse(response))}\n`);
    else if (error) {
      io.err(describeError(error));
      const { conflicts = [] } = (error.details ?? {}) as { conflicts?: readonly { diff?: string }[] };
      for (const { diff } of conflicts) if (diff) io.err(diff);
    } else {
      const { restored = [], removed = [], not_restored = [], diff } = response.data as UndoAnswer;
      if (diff) io.out(diff.endsWith('\n') ? diff : `${diff}\n`);
      for (const path of restored) io.out(`${args.dry_run ? 'would restore' : 'restored'} ${path}\n`);
      for (const path of removed) io.out(`${args.dry_run ? 'would remove' : 'removed'} ${path}\n`);
      for (const { path, what, why } of not_restored) {
        io.err(`haft: not restored: ${what.replaceAll('_', ' ')} of ${path}: ${why}\n`);
      }
      if (!args.dry_run) io.out(`undone; "haft undo ${response.callId}" takes this back\n`);
    }
    return error ? ERRORS[error.reason].exit : 0;
  },
};

interface UndoAnswer {
  readonly restored?: readonly string[];
  readonly removed?: readonly string[];
  readonly not_restored?: readonly { readonly path: string; readonly what: string; readonly why: string }[];
  readonly diff?: string;
}
