// Owns: taking a call back, and finding out which one is meant: by the beginning of its id, as the last one, from a list.
// Refuses: to guess between two calls. Which calls there were is told at the terminal only: the audit is not for who calls tools.
import { type CallResponse, toToolResponse } from '../contract/envelope.ts';
import { explainError } from '../contract/error-remedies.ts';
import { ERRORS, fail } from '../contract/errors.ts';
import { defineOperation, type Terminal } from '../contract/operation.ts';
import type { HostRuntime } from '../contract/operation-handles.ts';
import type { AuditRow } from '../contract/store.ts';
import { oneLine } from '../contract/terminal-text.ts';
import { document, flag, list as listOf, local, optionalWord, YES } from './schemas.ts';

interface UndoArgs {
  readonly call?: string;
  readonly last?: boolean;
  readonly list?: boolean;
  readonly dry_run?: boolean;
}

/** The call of the tool `undo`: policy and audit see it like any other. */
export const undo = defineOperation<UndoArgs, CallResponse>({
  id: 'undo',
  summary: 'Undo what a call changed',
  usage: 'CALL | --last | --list',
  description:
    'Restores exactly what that call changed, and refuses, with the difference, when something changed since. ' +
    'CALL is the call_id of an answer, or as much of its beginning as belongs to no other call that changed something.',
  examples: ['haft undo --list', 'haft undo --last', 'haft undo call_0123 --dry-run'],
  args: {
    call: optionalWord('the call_id of an answer'),
    last: local(flag('the newest call that changed something and is not undone')),
    list: local(flag('list the calls that can be undone, the newest first')),
    dry_run: flag('show the difference and change nothing'),
  },
  result: document({ ok: YES, data: {}, errors: listOf('Why it was refused.') }),
  who: 'anyone',
  changes: true,
  lenient: true,
  looks: ({ list, dry_run }) => list === true || dry_run === true,
  async atTerminal({ call, last, list, ...rest }, terminal, { runtime }) {
    if ([call, last, list].filter((one) => one !== undefined).length !== 1)
      throw fail('usage', 'Cannot undo: name one call, or take --last; "haft undo --list" shows them');
    if (call !== undefined && WHOLE.test(call)) return { call, ...rest };
    const { all, open } = await changing(await runtime());
    if (list) return showList(open, terminal);
    if (last) {
      const newest = open[0];
      if (!newest) throw fail('undo.unknown', 'Cannot undo the last call: there is none to take back');
      return { call: newest.callId, ...rest };
    }
    return { call: meant(call!, all), ...rest };
  },
  async run({ call, dry_run }, { runtime, signal }) {
    if (call === undefined) throw fail('usage', 'Cannot undo: the argument "call" is missing');
    const args = { call_id: call, ...(dry_run ? { dry_run: true } : {}) };
    return (await runtime()).call({ tool: 'undo', args }, { signal });
  },
  json: toToolResponse,
  text(response, { out, err, diff: showDiff, args: { dry_run: dryRun } }) {
    const [error] = response.errors;
    if (error) {
      err(explainError(error));
      const { conflicts = [] } = (error.details ?? {}) as { conflicts?: readonly { diff?: string }[] };
      for (const { diff } of conflicts) if (diff) err(diff);
      return;
    }
    const { restored = [], removed = [], not_restored = [], diff } = response.data as UndoAnswer;
    if (diff) showDiff(diff.endsWith('\n') ? diff : `${diff}\n`);
    for (const path of restored) out(`${dryRun ? 'would restore' : 'restored'} ${oneLine(path)}\n`);
    for (const path of removed) out(`${dryRun ? 'would remove' : 'removed'} ${oneLine(path)}\n`);
    for (const { path, what, why } of not_restored)
      err(`haft: not restored: ${what.replaceAll('_', ' ')} of ${oneLine(path)}: ${why}\n`);
    if (!dryRun) out(`undone; "haft undo ${response.callId}" takes this back\n`);
  },
  exit: ({ errors: [error] }) => (error ? ERRORS[error.reason].exit : 0),
});

interface UndoAnswer {
  readonly restored?: readonly string[];
  readonly removed?: readonly string[];
  readonly not_restored?: readonly { readonly path: string; readonly what: string; readonly why: string }[];
  readonly diff?: string;
}

const WHOLE = /^call_[0-9a-z]{20}$/;
/** Rows that are looked through; what undo keeps is seldom older. */
const LOOKED_AT = 5000;

/** The newest first. `open`: neither undone nor themselves an undo. */
async function changing({
  audit,
}: HostRuntime): Promise<{ all: readonly AuditRow[]; open: readonly AuditRow[] }> {
  const rows = await audit.rows({ last: LOOKED_AT });
  const all = rows.filter(({ phase, changes }) => phase === 'outcome' && changes.length > 0).reverse();
  const undone = new Set<string>();
  for (const { tool, callId, facts } of all)
    if (tool === 'undo' && !undone.has(callId) && typeof facts?.undoes === 'string') undone.add(facts.undoes);
  return { all, open: all.filter(({ tool, callId }) => tool !== 'undo' && !undone.has(callId)) };
}

function meant(given: string, all: readonly AuditRow[]): string {
  const fits = all.filter(({ callId }) => callId.startsWith(given) || callId.startsWith(`call_${given}`));
  if (fits.length === 1) return fits[0]!.callId;
  // The tool says that it knows none.
  if (fits.length === 0) return given;
  const shown = fits.slice(0, 5).map((row) => `${row.callId} (${row.tool} ${pathsOf(row)})`);
  throw fail(
    'usage',
    `Cannot undo "${given.slice(0, 80)}": ${fits.length} calls begin so: ${shown.join(', ')}${fits.length > 5 ? ', …' : ''}; write more of its id`,
  );
}

const SHOWN = 20;

function showList(open: readonly AuditRow[], { json, out, table, time }: Terminal): number {
  const shown = open.slice(0, SHOWN);
  if (json) {
    const calls = shown.map((row) => ({
      call_id: row.callId,
      tool: row.tool,
      changed_at: new Date(row.startTs).toISOString(),
      paths: row.changes.map(({ path }) => path),
    }));
    out(`${JSON.stringify({ calls })}\n`);
  } else if (shown.length === 0) out('Nothing to undo.\n');
  else
    table(
      shown.map((row) => [row.callId, time(row.startTs), row.tool, pathsOf(row)]),
      ['CALL', 'WHEN', 'TOOL', 'CHANGED'],
    );
  return 0;
}

function pathsOf({ changes }: AuditRow): string {
  const [first, ...more] = changes.map(({ path }) => path);
  return `${first ?? ''}${more.length > 0 ? ` and ${more.length} more` : ''}`;
}
