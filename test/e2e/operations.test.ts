// Owns: the proof that every operation answers the same at the command line and over HTTP, that what changes something is in the
// audit of both, and that an agent's token does not do what is a person's.
// Refuses: an operation without a row here.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, describe, it } from 'node:test';
import type { Operation } from '../../src/contract/operation.ts';
import { OPERATIONS } from '../../src/operations/index.ts';
import { haft, startHaft } from './support/haft.ts';
import { FILES, POLICY_SHA256, ROWS, type Row, type Seen } from './support/operation-rows.ts';
import { makeWorkspace } from './support/workspace.ts';

const TOKENS = { calls: 'token-for-calls-only-0', management: 'token-of-a-person-0000' };

interface Answer {
  readonly ok: boolean;
  readonly value: unknown;
}

/** One workspace with its door. Both live through the same operations in the same order. */
interface Door {
  readonly root: string;
  readonly by: string;
  readonly seen: Seen;
  ask(operation: Operation, args: object, row: Row): Promise<Answer>;
  // biome-ignore lint/suspicious/noExplicitAny: an answer is whatever the tool says
  call(tool: string, args: object): Promise<any>;
}

const isJson = (text: string) => text.startsWith('{');

/** As a person would type it. */
function argvOf({ id, args: known }: Operation, args: Readonly<Record<string, unknown>>): string[] {
  const words: string[] = [];
  const rest: string[] = [];
  for (const [name, argument] of Object.entries(known)) {
    const value = args[name];
    if (value === undefined || argument.secret) continue;
    const texts = [value].flat().map((one) => (typeof one === 'object' ? JSON.stringify(one) : String(one)));
    if (argument.positional) (argument.type === 'array' ? rest : words).push(...texts);
    else if (value === true) words.push(`--${name.replaceAll('_', '-')}`);
    else for (const text of texts) words.push(`--${name.replaceAll('_', '-')}`, text);
  }
  return [...id.split('.'), ...words, '--json', ...(rest.length > 0 ? ['--', ...rest] : [])];
}

function cliDoor(root: string, env: Record<string, string>): Door {
  const run = (argv: readonly string[], stdin = '') => haft(argv, { cwd: root, env, stdin });
  return {
    root,
    by: `cli:${userInfo().username}`,
    seen: {},
    async ask(operation, args, row) {
      const { answers = 'json', lastLine } = operation;
      const argv = row.argv?.(args as never) ?? argvOf(operation, args as Record<string, unknown>);
      if (row.until !== undefined) return { ok: true, value: await firstLines(argv, root, env, row.until) };
      const { stdout, stderr } = await run(argv, row.stdin);
      if (answers === 'bytes') return { ok: stderr === '', value: row.read?.(root) ?? stdout };
      const lines = stdout.split('\n').filter((line) => line !== '');
      assert.ok(lines.every(isJson), `${argv.join(' ')}: ${stdout}${stderr}`);
      const values = lines.map((line) => JSON.parse(line));
      if (values[0]?.ok === false && values[0]?.errors && operation.id !== 'undo')
        return { ok: false, value: values[0].errors[0].reason };
      return { ok: true, value: answers === 'lines' && !lastLine ? values : values.at(-1) };
    },
    async call(tool, args) {
      return JSON.parse((await run(['call', tool, JSON.stringify(args), '--json'])).stdout);
    },
  };
}

async function firstLines(argv: readonly string[], cwd: string, env: Record<string, string>, count: number) {
  const child = startHaft(argv, { cwd, env });
  const lines: unknown[] = [];
  for await (const line of createInterface(child.stdout)) {
    lines.push(JSON.parse(line));
    if (lines.length === count) break;
  }
  child.kill('SIGTERM');
  await once(child, 'close');
  return lines;
}

async function httpDoor(
  root: string,
  env: Record<string, string>,
): Promise<Door & { close(): Promise<void> }> {
  const tokens = { HAFT_TOKEN: TOKENS.calls, HAFT_APPROVAL_TOKEN: TOKENS.management };
  const child = startHaft(['serve', '--port', '0', '--json'], { cwd: root, env: { ...env, ...tokens } });
  const [line] = await Promise.race([
    once(createInterface(child.stdout), 'line'),
    once(child, 'close').then(() => assert.fail('haft serve ended')),
  ]);
  const { address } = JSON.parse(line as string);
  const post = (path: string, body: object, token: string | undefined, signal?: AbortSignal) =>
    fetch(`${address}${path}`, {
      method: 'POST',
      headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
      body: JSON.stringify(body),
      ...(signal ? { signal } : {}),
    });
  return {
    root,
    by: 'http',
    seen: {},
    async ask({ id, who, answers = 'json', lastLine }, args, row) {
      const path = `/v1/operations/${id}`;
      assert.equal((await post(path, args, undefined)).status, 401, `${id} without a token`);
      if (who === 'person')
        assert.equal((await post(path, args, TOKENS.calls)).status, 401, `${id} for agents`);
      const stop = new AbortController();
      const response = await post(path, args, TOKENS.management, stop.signal);
      if (answers === 'json' || response.status !== 200) {
        const value = (await response.json()) as { type?: string; reason?: string };
        // What is a call itself answers as the call does, with its status.
        const isAnswer = response.status === 200 || value.type === 'ToolResponse';
        return isAnswer ? { ok: true, value } : { ok: false, value: value.reason };
      }
      if (answers === 'bytes')
        return { ok: true, value: Buffer.from(await response.arrayBuffer()).toString('latin1') };
      assert.match(String(response.headers.get('content-type')), /ndjson/);
      if (row.until !== undefined) {
        let text = '';
        for await (const piece of response.body!.pipeThrough(new TextDecoderStream())) {
          text += piece;
          if (text.split('\n').length > row.until) break;
        }
        stop.abort();
        return { ok: true, value: linesOf(text).slice(0, row.until) };
      }
      const values = linesOf(await response.text());
      return { ok: true, value: lastLine ? values.at(-1) : values };
    },
    async call(tool, args) {
      return (await post('/v1/call', { tool, args }, TOKENS.calls)).json();
    },
    async close() {
      child.kill('SIGTERM');
      await once(child, 'close');
    },
  };
}

const linesOf = (text: string): unknown[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));

/** What differs between two workspaces that lived through the same. */
function plain(value: unknown, root: string): unknown {
  const text = JSON.stringify(value ?? null)
    .replaceAll(root, 'ROOT')
    .replaceAll(/"[^"]*cli:[^"]*"|"http"/g, '"WHO"')
    .replaceAll(/\b(call|act|sess|appr|req|att|run|haft)_[0-9a-z]{6,}/g, '$1')
    .replaceAll(/\d+:\d+:[0-9a-f-]{36}/g, 'PROCESS')
    .replaceAll(/[0-9a-f]{64}/g, 'HEX')
    .replaceAll(
      /("(?:\w+_ts|checkedTs|duration_ms|wall_ms|ms|total|database|free|undo|pid)"):[\d.]+/g,
      '$1:0',
    )
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'WHEN');
  return JSON.parse(text);
}

describe('operations', { timeout: 600_000 }, () => {
  const homes = [0, 1].map(() => mkdtempSync(join(tmpdir(), 'haft-operations-home-')));
  const envOf = (home: string) => ({
    HOME: home,
    XDG_CONFIG_HOME: home,
    XDG_CACHE_HOME: join(home, 'cache'),
  });
  const workspaces = homes.map(() => makeWorkspace(FILES));
  let doors: readonly [Door, Door & { close(): Promise<void> }];
  before(async () => {
    const trusted = async (i: 0 | 1) => {
      const [{ root }, env] = [workspaces[i]!, envOf(homes[i]!)];
      assert.equal((await haft(['trust', '--sha256', POLICY_SHA256], { cwd: root, env })).status, 0);
      return [root, env] as const;
    };
    doors = [cliDoor(...(await trusted(0))), await httpDoor(...(await trusted(1)))];
  });
  after(async () => {
    await doors?.[1].close();
    for (const workspace of workspaces) workspace.remove();
    for (const home of homes) rmSync(home, { recursive: true, force: true });
  });

  it('are all tried here, and nothing else is', () => {
    assert.deepEqual([...new Set(ROWS.map(({ id }) => id))].sort(), Object.keys(OPERATIONS).sort());
  });

  it('have the id that the table knows them by, and words for people', async () => {
    for (const [id, { load, summary }] of Object.entries(OPERATIONS)) {
      const operation = await load();
      assert.equal(operation.id, id);
      assert.ok(operation.summary && summary && operation.examples.length > 0, id);
      assert.ok(
        operation.examples.some((one) => one.includes(`haft ${id.replace('.', ' ')}`)),
        id,
      );
      for (const [name, { description }] of Object.entries(operation.args))
        assert.ok(description, `${id} ${name}`);
    }
  });

  it('never let an agent trust, add tools, keep credentials or answer approvals', async () => {
    for (const [id, { load }] of Object.entries(OPERATIONS))
      if (/^(trust|tools\.(add|remove|config|enable|disable|lock)|credentials\.|approvals\.)/.test(id))
        assert.equal((await load()).who, 'person', id);
  });

  for (const [at, row] of ROWS.entries()) {
    const title = `${row.id} answers the same at both doors${row.what ? `, ${row.what}` : ''} (step ${at + 1})`;
    it(title, async () => {
      const operation = await OPERATIONS[row.id]!.load();
      const answers: Answer[] = [];
      for (const door of doors) {
        const get = async (id: string, args: object = {}) =>
          (await door.ask(await OPERATIONS[id]!.load(), args, { id })).value;
        await row.before?.({ ...door, get });
        const args = typeof row.args === 'function' ? row.args(door.seen) : (row.args ?? {});
        const answer = await door.ask(operation, args, row);
        door.seen[row.what ? `${row.id} ${row.what}` : row.id] = answer.value as never;
        assert.equal(answer.ok, row.fails === undefined, `${door.by}: ${JSON.stringify(answer.value)}`);
        if (row.fails) assert.equal(answer.value, row.fails);
        answers.push(answer);
      }
      const [cli, http] = answers.map(({ value }, i) => {
        const shown = row.shown ? row.shown(value as never) : value;
        return plain(shown, doors[i]!.root);
      });
      assert.deepEqual(http, cli);
      row.check?.(doors[0].seen[row.what ? `${row.id} ${row.what}` : row.id] as never);
    });
  }

  it('leave the same rows in the audit, with who asked', async () => {
    const acts = await Promise.all(
      doors.map(async ({ root }, i) => {
        const { stdout } = await haft(['audit', 'list', '--last', '500', '--json'], {
          cwd: root,
          env: envOf(homes[i]!),
        });
        return (JSON.parse(stdout).rows as AuditLine[]).filter(({ phase }) => phase === 'outcome');
      }),
    );
    const managed = acts.map((rows) => rows.filter(({ decision }) => decision.rule === 'management'));
    for (const [i, [, ...rows]] of managed.entries())
      assert.deepEqual([...new Set(rows.map(({ attribution }) => attribution?.by))], [doors[i]!.by]);
    const [cli, http] = managed.map((rows, i) =>
      rows.map(({ tool, outcome, facts }) => [tool, outcome, plain(facts, doors[i]!.root)]),
    );
    assert.deepEqual(http, cli);
    for (const { id, leaves, fails } of ROWS) {
      const { changes } = await OPERATIONS[id]!.load();
      if (!changes) continue;
      const tool = leaves === undefined ? `haft ${id.replace('.', ' ')}` : leaves;
      const isLeft = (row: AuditLine) =>
        row.tool === tool && (fails ? row.errors[0]?.reason === fails : row.outcome === 'ok');
      for (const rows of acts) assert.ok(tool === null || rows.some(isLeft), `${id} left no row`);
    }
  });
});

interface AuditLine {
  readonly tool: string;
  readonly phase: string;
  readonly outcome: string;
  readonly errors: readonly { readonly reason: string }[];
  readonly attribution: { readonly by?: string } | null;
  readonly facts: object | null;
  readonly decision: { readonly rule: string };
}
