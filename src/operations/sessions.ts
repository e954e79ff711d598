// Owns: the operations on sessions: opening one with narrowed policy and a budget of its own, looking at them, ending one.
// Refuses: to grant a session more than the host grants.
import { fail } from '../contract/errors.ts';
import type { JsonObject } from '../contract/json.ts';
import { type Argument, defineOperation } from '../contract/operation.ts';
import type { SessionView } from '../contract/runtime.ts';
import { toWire } from '../contract/spelling.ts';
import type { SessionRecord, Usage } from '../contract/store.ts';
import { document, duration, list as listOf, TEXT, text, word } from './schemas.ts';

interface OpenArgs {
  readonly id?: string;
  readonly attribution?: JsonObject;
  readonly policy?: JsonObject;
  readonly calls?: number;
  readonly wall_ms?: number;
  readonly bytes?: number;
  readonly for?: string;
}

const most = (of: string): Argument => ({
  type: 'integer',
  minimum: 1,
  placeholder: 'N',
  description: `the most ${of} in it`,
});

const SESSION: Argument = word('its id');

export const sessionsOpen = defineOperation<OpenArgs, SessionRecord>({
  id: 'sessions.open',
  summary: 'Open a session that calls can be made in',
  description: 'It may narrow what the policy of the workspace grants, and never widen it.',
  examples: [
    'haft sessions open --id review --calls 100 --for 12h',
    `haft sessions open --attribution '{"user":"ada"}' --policy '{"version":1,"tools":{"default":"deny"}}'`,
  ],
  args: {
    id: text('ID', 'its id (default: a new one)'),
    attribution: {
      type: 'object',
      placeholder: 'JSON',
      description: 'whom its calls are for, in the audit; {"user": ID} also says whose credentials they get',
    },
    policy: {
      type: 'object',
      placeholder: 'JSON',
      description: 'rules in the shape of haft.yaml that are added to those of the workspace',
    },
    calls: most('calls'),
    wall_ms: most('milliseconds that calls take'),
    bytes: most('bytes that calls answer'),
    for: text('TIME', 'when it ends by itself: after 12h, 30d, 8w'),
  },
  result: document({ id: TEXT, created_ts: { type: 'integer' } }),
  who: 'person',
  changes: true,
  async run(args, { runtime, record }) {
    const { id, attribution, policy, calls, wall_ms: wallMs, bytes, for: lasts } = args;
    const budget: Partial<Usage> = {
      ...(calls === undefined ? {} : { calls }),
      ...(wallMs === undefined ? {} : { wallMs }),
      ...(bytes === undefined ? {} : { bytes }),
    };
    const opened = await (await runtime()).sessions.open({
      ...(id === undefined ? {} : { id }),
      ...(attribution === undefined ? {} : { attribution }),
      ...(policy === undefined ? {} : { registry: policy }),
      ...(Object.keys(budget).length === 0 ? {} : { budget }),
      ...(lasts === undefined ? {} : { ttlMs: duration('for', lasts) }),
    });
    await record('haft sessions open', { session: opened.id, budget, narrowed: policy !== undefined });
    return opened;
  },
  json: sessionToWire,
  text: ({ id }, { out }) => out(`${id}\n`),
});

export const sessionsList = defineOperation<object, readonly SessionRecord[]>({
  id: 'sessions.list',
  summary: 'List the sessions',
  examples: ['haft sessions list', 'haft sessions list --json'],
  args: {},
  result: document({ sessions: listOf('Every session that calls were made in or that was opened.') }),
  who: 'person',
  reads: true,
  run: async (_, { runtime }) => (await runtime()).sessions.list(),
  json: (sessions) => ({ sessions: sessions.map(sessionToWire) }),
  text(sessions, { out, table, time }) {
    if (sessions.length === 0) return out('No sessions yet.\n');
    const rows = sessions.map(({ id, createdTs, expiresTs, usage }) => [
      id,
      time(createdTs),
      expiresTs === null ? '' : time(expiresTs),
      String(usage.calls),
    ]);
    table(rows, ['SESSION', 'OPENED', 'ENDS', 'CALLS']);
  },
});

export const sessionsShow = defineOperation<{ readonly session: string }, SessionView>({
  id: 'sessions.show',
  summary: 'Show one session: its terms, what it used up, what remains',
  examples: ['haft sessions show review'],
  args: { session: SESSION },
  result: document({ id: TEXT, usage: { type: 'object' }, remaining: { type: 'object' } }),
  who: 'person',
  reads: true,
  async run({ session }, { runtime }) {
    const found = await (await runtime()).sessions.get(session);
    return found ?? unknown('show', session);
  },
  json: (view) => ({ ...sessionToWire(view), remaining: toWire(view.remaining) }),
  text: (view, { out }) =>
    out(`${JSON.stringify({ ...sessionToWire(view), remaining: view.remaining }, null, 2)}\n`),
});

export const sessionsEnd = defineOperation<{ readonly session: string }, { readonly ended: string }>({
  id: 'sessions.end',
  summary: 'End a session: no call can be made in it any more',
  examples: ['haft sessions end review'],
  args: { session: SESSION },
  result: document({ ended: TEXT }),
  who: 'person',
  changes: true,
  async run({ session }, { runtime, record }) {
    const { sessions } = await runtime();
    if (!(await sessions.get(session))) unknown('end', session);
    await sessions.end(session);
    await record('haft sessions end', { session });
    return { ended: session };
  },
  text: ({ ended }, { out }) => out(`ended ${ended}\n`),
});

function unknown(action: string, session: string): never {
  const shown = session.slice(0, 80);
  throw fail('session.unknown', `Cannot ${action} session "${shown}": there is none of that id`);
}

function sessionToWire({ id, createdTs, expiresTs, attribution, registry, budget, usage }: SessionRecord) {
  return {
    ...toWire({ id, createdTs, expiresTs, attribution }),
    policy: registry,
    budget: budget && toWire(budget),
    usage: toWire(usage),
  };
}
