// Owns: the operations on haft.yaml: checking, explaining, comparing and improving it.
// Refuses: to adopt a policy, and to make a call.
import { readPlacement } from '../contract/backend.ts';
import { formatDiagnostic } from '../contract/diagnostic.ts';
import { describeEffect } from '../contract/effect.ts';
import { ERRORS } from '../contract/errors.ts';
import type { JsonObject } from '../contract/json.ts';
import { defineOperation } from '../contract/operation.ts';
import type {
  PolicyDiff,
  PolicyHandles,
  PolicySuggestions,
  PolicyVerdict,
  WrittenPolicy,
} from '../contract/operation-handles.ts';
import type { Explanation } from '../contract/runtime.ts';
import { describeAdmit, oneLine } from '../contract/terminal-text.ts';
import { COUNT, count, document, flag, list as listOf, optionalWord, TEXT, word, YES } from './schemas.ts';

export const policyCheck = defineOperation<{ readonly file?: string }, PolicyVerdict>({
  id: 'policy.check',
  summary: 'Check haft.yaml',
  description:
    'Reports all problems at once, each with line, column and what to type instead; also runs the examples of its rules, and tells what a start would refuse of its packs. Starts nothing.',
  examples: ['haft policy check', 'haft policy check proposed.yaml --json'],
  args: { file: optionalWord('another file than haft.yaml, seen from the workspace') },
  result: document({ ok: YES, diagnostics: listOf('Every problem, with its place.') }),
  who: 'person',
  run: ({ file }, { policies }) => policies.check(file),
  json: ({ ok, diagnostics }) => ({ ok, diagnostics }),
  text({ ok, diagnostics, name }, { out, err }) {
    for (const one of diagnostics) err(`${formatDiagnostic(one)}\n`);
    if (ok) out(`${name} is fine\n`);
  },
  exit: ({ ok }) => (ok ? 0 : ERRORS['policy.invalid'].exit),
});

export const policyExplain = defineOperation<
  {
    readonly tool: string;
    readonly args?: JsonObject;
    readonly session?: string;
    readonly backend?: string;
    readonly place?: string;
  },
  Explanation
>({
  id: 'policy.explain',
  summary: 'Show which rule decides a call, without making it',
  usage: 'TOOL [JSON]',
  description:
    "Takes the steps of the call up to the first that would do something: links are followed, edits planned, the budget and open approvals looked at; of a toolpack's tool the run is prepared, so that its image and its place are decided, too. " +
    'Nothing is changed, sent or started, nobody is asked, and no row is left. What only the call itself can find out is listed as not looked at. A call that is refused before policy is asked is refused here alike.',
  examples: [
    `haft policy explain file_read '{"path":"src/index.ts"}'`,
    `haft policy explain file_write '{"path":"haft.yaml","content":""}'`,
  ],
  args: {
    tool: word('its id'),
    args: { type: 'object', positional: true, description: 'the arguments of the call' },
    session: {
      type: 'string',
      placeholder: 'ID',
      description: 'the session that would make it, with its policy and what is left of its budget',
    },
    backend: {
      type: 'string',
      placeholder: 'NAME',
      description: 'where a run is executed, among what policy grants',
    },
    place: {
      type: 'string',
      placeholder: 'KEY=VALUE,…',
      description: 'partition, account, qos or gres of its Slurm job, among what policy lists',
    },
  },
  result: document(
    {
      tool: TEXT,
      effects: listOf('What it would touch.'),
      decision: { type: 'object', description: 'what decides' },
      all: listOf('Every rule that has a say.'),
    },
    {
      place: { type: 'object', description: 'Of a run: where it would go.' },
      approval: {
        type: 'object',
        description: 'Of a call that asks: the open approval of exactly this call.',
      },
      unseen: listOf('What only the call itself would find out, and policy decides then.', TEXT),
    },
  ),
  who: 'anyone',
  lenient: true,
  run: async ({ tool, args = {}, session, backend, place }, { runtime }) =>
    (await runtime()).policy.explain(
      { tool, args, ...(session === undefined ? {} : { sessionId: session }) },
      {
        ...(backend === undefined ? {} : { backend }),
        ...(place === undefined ? {} : { placement: readPlacement(place) }),
      },
    ),
  text({ tool, effects, decision, all, place, approval, unseen = [] }, { out }) {
    const would = effects.length === 0 ? 'touch nothing' : effects.map(describeEffect).join(', ');
    out(`${tool} would ${would}\n`);
    for (const one of all) {
      const line = one.line === undefined ? '' : ` (haft.yaml line ${one.line})`;
      const effect = one.effect ? `  ${describeEffect(one.effect)}` : '';
      out(`  ${one.verdict.padEnd(5)}  ${one.rule}${line}${effect}\n`);
    }
    if (place) out(`${all.at(-1)?.message}\n`);
    for (const one of unseen) out(`not looked at: ${one}\n`);
    out(`${decision.verdict}: ${decision.message}\n`);
    const next = approval?.status === 'granted' ? ': the next such call is made' : '';
    if (approval) out(`approval ${approval.id} is ${approval.status}${next}\n`);
    if (decision.verdict !== 'allow' && decision.admit) out(`${describeAdmit(decision.admit)}\n`);
  },
});

type Suggested = PolicySuggestions & { readonly written?: WrittenPolicy };

export const policySuggest = defineOperation<{ readonly last: number; readonly write?: boolean }, Suggested>({
  id: 'policy.suggest',
  summary: 'Suggest haft.yaml lines from calls that were denied',
  usage: '[--last N] [--write]',
  description:
    'Prints lines to merge into haft.yaml. With --write puts them there, in the layout of the file, and shows the difference; haft trust then ' +
    'asks whether to use it. What is dangerous (rm -rf, sudo, a shell that runs what it is sent, /etc, a whole home folder, link-local addresses, ' +
    'any command) is named and neither offered nor written. Denied calls for which no line is offered are counted, with the reason: paths outside of ' +
    'the workspace, which the audit does not keep, and what nothing admits.',
  examples: ['haft policy suggest', 'haft policy suggest --write', 'haft policy suggest --last 50 --json'],
  args: {
    last: count(1000, 'look at this many of the newest audit rows (default: 1000)'),
    write: { ...flag('put the lines into haft.yaml'), local: true },
  },
  result: document({
    suggestions: listOf('The most wanted first.'),
    admit: TEXT,
    unoffered: listOf('Denied calls for which no line is offered.'),
    flagged: listOf('What is too dangerous to be offered, and why.'),
  }),
  who: 'person',
  lenient: true,
  async run({ last, write }, { runtime, policies, record }) {
    const found = await policies.suggest(await (await runtime()).audit.rows({ last }));
    if (!write || found.suggestions.length === 0) return found;
    const written = await policies.write(found.admit);
    const { sha256, trusted } = written;
    if (written.diff !== '') await record('haft policy suggest --write', { sha256, trusted });
    return { ...found, written };
  },
  text(found, { out, err, tty }) {
    const { suggestions, written, unoffered, flagged } = found;
    if (written) out(written.diff === '' ? 'haft.yaml has these lines already.\n' : written.diff);
    else out(suggestions.length === 0 ? 'Nothing to suggest.\n' : describe(found));
    out(flagged.map(describeFlagged).join(''));
    out(unoffered.map(describeUnoffered).join(''));
    if (tty && !written && suggestions.length > 0) err('haft: --write puts these lines into haft.yaml\n');
    if (written && written.diff !== '')
      err(
        written.trusted
          ? 'haft: wrote haft.yaml\n'
          : 'haft: wrote haft.yaml; it is not used before you run haft trust\n',
      );
  },
});

export const policyDiff = defineOperation<object, PolicyDiff>({
  id: 'policy.diff',
  summary: 'Compare haft.yaml with what was trusted',
  description:
    'Marks what grants more than the policy that was trusted on this machine; where none was, compares with the defaults. ' +
    'Fails where a command would not use the policy as it is.',
  examples: ['haft policy diff', 'haft policy diff --json'],
  args: {},
  result: document({
    trusted: YES,
    known: YES,
    sha256: TEXT,
    changes: listOf('Key by key.'),
    lock_changed: YES,
  }),
  who: 'person',
  run: (_, { policies }) => policies.diff(),
  json: ({ trusted, known, sha256, changes, lockChanged }) => ({
    trusted,
    known,
    sha256,
    changes,
    lock_changed: lockChanged,
  }),
  text({ trusted, known, lines, lockChanged }, { out, err }) {
    if (!known) out('Compared with the defaults: nothing was trusted here.\n');
    for (const line of lines) out(`${line}\n`);
    if (lockChanged) out('~ haft.lock is not the one that was trusted\n');
    if (lines.length === 0 && !lockChanged) out('No difference.\n');
    err(trusted ? 'haft: the policy is trusted\n' : 'haft: the policy is not trusted; see haft trust\n');
  },
  exit: ({ trusted }) => (trusted ? 0 : ERRORS['policy.untrusted'].exit),
});

export const policyHash = defineOperation<
  { readonly tool?: string },
  { readonly tool?: string; readonly hash: string }
>({
  id: 'policy.hash',
  summary: "Print the policy's hash, or its projection on one tool",
  description:
    'With a tool: only what can change its output, so that an unrelated edit keeps replays. Runs of toolpacks depend on runs.limits alone.',
  examples: ['haft policy hash', 'haft policy hash file_read'],
  args: { tool: optionalWord('its id') },
  result: document({ hash: TEXT }, { tool: TEXT }),
  who: 'anyone',
  lenient: true,
  async run({ tool }, { runtime, findTool }) {
    if (tool !== undefined) await findTool(tool);
    const { current } = (await runtime()).policy;
    return tool === undefined ? { hash: current.hash } : { tool, hash: current.hashFor(tool) };
  },
  text: ({ hash }, { out }) => out(`${hash}\n`),
});

interface Replayed {
  readonly looked: number;
  readonly changes: Awaited<ReturnType<PolicyHandles['replay']>>;
}

export const policyReplay = defineOperation<{ readonly file: string; readonly last: number }, Replayed>({
  id: 'policy.replay',
  summary: 'Decide the last audited calls again under another policy file',
  description: 'Lists the calls that would be decided otherwise; the exit code is 1 if there are any.',
  examples: ['haft policy replay proposed.yaml', 'haft policy replay proposed.yaml --last 10000 --json'],
  args: {
    file: word('seen from the workspace'),
    last: count(1000, 'how many of the newest audit rows (default: 1000)'),
  },
  result: document({ looked_at: COUNT, changes: listOf('Calls that would be decided otherwise.') }),
  who: 'person',
  reads: true,
  async run({ file, last }, { runtime, policies }) {
    const rows = await (await runtime()).audit.rows({ last });
    return { looked: rows.length, changes: await policies.replay(rows, file) };
  },
  json: ({ looked, changes }) => ({
    looked_at: looked,
    changes: changes.map(({ row, before, after }) => ({
      seq: row.seq,
      call_id: row.callId,
      tool: row.tool,
      before,
      after,
    })),
  }),
  text({ looked, changes }, { out, table }) {
    if (changes.length === 0) return out(`Nothing would change for the last ${looked} rows.\n`);
    const lines = changes.map(({ row, before, after }) => [
      String(row.seq),
      row.tool,
      `${before} → ${after.verdict}`,
      after.rule,
      row.effects.map(describeEffect).join('; '),
    ]);
    table(lines, ['SEQ', 'TOOL', 'DECISION', 'RULE', 'EFFECTS']);
  },
  exit: ({ changes }) => (changes.length === 0 ? 0 : ERRORS['policy.differs'].exit),
});

/** One piece to paste, each entry once; behind it, how many calls want it. */
function describe({ admit, suggestions }: PolicySuggestions): string {
  const all = suggestions.reduce((sum, { calls }) => sum + calls, 0);
  const head = `# ${shownCalls(all)} ${all === 1 ? 'was' : 'were'} not admitted. Merge these lines into haft.yaml; where an entry is there already, change it: the strictest one counts.`;
  const lines = admit.trimEnd().split('\n');
  return `${[head, ...lines.map((line) => `${line}${wanted(line, suggestions)}`)].join('\n')}\n`;
}

/** As comments, so that all of it can be pasted. */
function describeUnoffered({ reason, calls, tools }: PolicySuggestions['unoffered'][number]): string {
  const what = `# ${shownCalls(calls)} of ${tools.join(', ')} ${calls === 1 ? 'was' : 'were'} denied, and no line is offered`;
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

/** A comment of one line, whatever was asked for: it is nothing to paste. */
function describeFlagged({ what, why, calls, tools }: PolicySuggestions['flagged'][number]): string {
  const shown = oneLine(what.length > MOST_SHOWN ? `${what.slice(0, MOST_SHOWN)}…` : what);
  return `# Not offered, dangerous: ${shown} (${why}; ${shownCalls(calls)} of ${tools.join(', ')})\n`;
}

const MOST_SHOWN = 120;

function wanted(line: string, suggestions: PolicySuggestions['suggestions']): string {
  if (!line.trimStart().startsWith('- ')) return '';
  const by = suggestions.filter((one) => one.admit.split('\n').includes(line));
  if (by.length === 0) return '';
  const tools = [...new Set(by.flatMap((one) => one.tools))].sort();
  return `  # ${shownCalls(by.reduce((sum, { calls }) => sum + calls, 0))} of ${tools.join(', ')}`;
}

const shownCalls = (calls: number): string => `${calls} call${calls === 1 ? '' : 's'}`;
