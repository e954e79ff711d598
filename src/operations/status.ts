// Owns: where somebody is: the workspace, its policy, packs, what waits for a person, the last calls, and what to do next.
// Refuses: to make a workspace, to start a server, and to fail where something is wrong: that is what it is there to say.
import { describeEffect } from '../contract/effect.ts';
import { toErrorEntry } from '../contract/errors.ts';
import { defineOperation, type OperationSite, type Reader } from '../contract/operation.ts';
import type { PackState } from '../contract/runtime.ts';
import { toWire } from '../contract/spelling.ts';
import type { AuditRow } from '../contract/store.ts';
import { oneLine } from '../contract/terminal-text.ts';
import { document, list as listOf, TEXT } from './schemas.ts';

interface Status {
  readonly workspace: string;
  /** `none`: no haft.yaml; the defaults hold. */
  readonly policy: 'none' | 'trusted' | 'untrusted' | 'invalid';
  /** Neither haft.yaml nor .haft is here. */
  readonly isBare: boolean;
  readonly problem?: string;
  readonly tools: { readonly enabled: number; readonly disabled: number };
  readonly packs: readonly PackState[];
  readonly pending: number;
  readonly last: readonly AuditRow[];
  readonly next: readonly (readonly [command: string, why: string])[];
}

const LAST = 5;

export const status = defineOperation<object, Status>({
  id: 'status',
  summary: 'Show the workspace, its policy and what to do next',
  description:
    'What "haft" alone prints: the workspace, its policy, packs, what waits for approval, the last calls.',
  examples: ['haft status', 'haft status --json'],
  args: {},
  result: document(
    {
      workspace: TEXT,
      policy: { enum: ['none', 'trusted', 'untrusted', 'invalid'] },
      tools: { type: 'object' },
      packs: listOf('How each is.'),
      pending_approvals: { type: 'integer' },
      last_calls: listOf('The newest, oldest first.'),
      next: listOf('Commands, and why.'),
    },
    { problem: TEXT },
  ),
  who: 'person',
  reads: true,
  worksBare: true,
  run: look,
  json: ({ workspace, policy, problem, tools, packs, pending, last, next }) => ({
    workspace,
    policy,
    ...(problem === undefined ? {} : { problem }),
    tools,
    packs: packs.map(toWire),
    pending_approvals: pending,
    last_calls: last.map(({ callId, tool, outcome, effects, startTs }) => ({
      call_id: callId,
      tool,
      outcome,
      touched: effects.map(describeEffect),
      started: new Date(startTs).toISOString(),
    })),
    next: next.map(([command, why]) => ({ command, why })),
  }),
  text: show,
});

async function look(_: object, site: OperationSite): Promise<Status> {
  const { workspace } = site;
  const found = await policyOf(site);
  const isBare = found.policy === 'none' && !(await site.hasState());
  const nothing = {
    workspace,
    isBare,
    ...found,
    packs: [],
    tools: { enabled: 0, disabled: 0 },
    pending: 0,
    last: [],
  };
  if (isBare || found.policy === 'invalid') return { ...nothing, next: nextOf({ ...nothing, next: [] }) };
  const runtime = await site.runtime();
  const tools = runtime.tools();
  const enabled = tools.filter((one) => one.enabled).length;
  const rows = await runtime.audit.rows({ last: 4 * LAST });
  const seen = {
    ...nothing,
    packs: runtime.packs(),
    tools: { enabled, disabled: tools.length - enabled },
    pending: (await runtime.approvals.list('pending')).length,
    last: rows.filter(({ phase }) => phase === 'outcome').slice(-LAST),
    next: [],
  };
  return { ...seen, next: nextOf(seen) };
}

async function policyOf({ trust, policies }: OperationSite): Promise<Pick<Status, 'policy' | 'problem'>> {
  try {
    const { state } = await trust.question();
    if (state === 'nothing') return { policy: 'none' };
    return { policy: (await policies.diff()).trusted ? 'trusted' : 'untrusted' };
  } catch (thrown) {
    return { policy: 'invalid', problem: toErrorEntry(thrown).message };
  }
}

function nextOf({ isBare, policy, packs, pending, last }: Status): Status['next'] {
  if (isBare) return [['haft init', 'write a haft.yaml for this folder, and begin']];
  if (policy === 'invalid') return [['haft policy check', 'haft.yaml has problems: nothing can be called']];
  const down = packs.filter(({ status: is }) => is === 'unhealthy');
  return [
    ...(policy === 'untrusted'
      ? ([['haft trust', 'nothing can be called before the policy is trusted']] as const)
      : []),
    ...(policy === 'none'
      ? ([['haft init', 'write a haft.yaml: the defaults run no commands']] as const)
      : []),
    ...(pending > 0
      ? ([
          ['haft approvals list', pending === 1 ? 'a call waits for you' : `${pending} calls wait for you`],
        ] as const)
      : []),
    ...down.map(({ name }) => [`haft tools logs ${name}`, 'why the pack is not there'] as const),
    ...(last.some(({ outcome }) => outcome === 'denied')
      ? ([['haft policy suggest', 'lines that would allow what was denied']] as const)
      : []),
    ...(last.length === 0 && policy === 'trusted' ? ([['haft call fs_list', 'a first call']] as const) : []),
    ['haft tools list', 'what can be called'],
  ];
}

const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? '' : 's'}`;

const POLICIES: Readonly<Record<Status['policy'], string>> = {
  none: 'no haft.yaml: the defaults hold',
  trusted: 'haft.yaml, trusted',
  untrusted: 'haft.yaml, not trusted',
  invalid: 'haft.yaml has problems',
};

function show(found: Status, { out, table, time }: Reader<object>): void {
  const { workspace, isBare, policy, problem, tools, packs, pending, last, next } = found;
  const heading = (name: string, text: string) => out(`${name.padEnd(11)}${text}\n`);
  if (isBare) {
    heading('Workspace', `none: neither haft.yaml nor .haft is in ${oneLine(workspace)} or above`);
  } else {
    heading('Workspace', oneLine(workspace));
    heading('Policy', POLICIES[policy]);
    if (problem !== undefined) out(`${problem.replaceAll(/^/gm, '  ')}\n`);
    if (policy !== 'invalid') {
      const disabled = tools.disabled > 0 ? `, ${tools.disabled} disabled` : '';
      heading('Tools', `${tools.enabled}${disabled}`);
      heading('Packs', packs.length === 0 ? 'none' : '');
      table(
        packs.map(({ name, status: is, tools: known, message = '' }) => [
          `  ${name}`,
          is,
          count(known, 'tool'),
          message,
        ]),
      );
      heading('Approvals', pending === 0 ? 'none pending' : `${count(pending, 'call')} pending`);
      heading('Last calls', last.length === 0 ? 'none yet' : '');
      table(
        last.map(({ startTs, tool, effects, outcome }) => [
          `  ${time(startTs)}`,
          tool,
          effects.map(describeEffect).join('; '),
          outcome,
        ]),
      );
    }
  }
  heading('Next', '');
  table(next.map(([command, why]) => [`  ${command}`, why]));
}
