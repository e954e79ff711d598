// Owns: the proof that no operation takes what it does not know: other arguments, other types, words that are none of a list.
// Refuses: what operations do with what they know; operations.test.ts has that.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { after, before, describe, it } from 'node:test';
import type { Argument, Operation } from '../../src/contract/operation.ts';
import { OPERATIONS } from '../../src/operations/index.ts';
import { cliJson } from './support/cli.ts';
import { startHaft } from './support/haft.ts';
import { makeWorkspace } from './support/workspace.ts';

const TOKEN = 'token-of-a-person-0000';

/** A value that fits the argument, as far as its schema says. */
const FITTING: { readonly [type in Argument['type']]: unknown } = {
  string: 'x',
  integer: 1,
  boolean: false,
  object: {},
  array: ['x'],
};
/** One that does not. */
const OTHER: typeof FITTING = { string: 1, integer: 'x', boolean: 'x', object: [], array: {} };

const fitting = ({ type, enum: words }: Argument) => words?.[0] ?? FITTING[type];
const required = ({ args }: Operation) =>
  Object.fromEntries(
    Object.entries(args).flatMap(([name, one]) => (one.required ? [[name, fitting(one)]] : [])),
  );

/** What each operation has to refuse, and why. */
function* refused(operation: Operation): Generator<readonly [args: unknown, query: string, why: string]> {
  const given = required(operation);
  yield [{ ...given, no_such_argument: 1 }, '', 'an unknown argument'];
  yield [given, '?last=1', 'arguments in the query'];
  yield [[], '', 'a list'];
  for (const [name, one] of Object.entries(operation.args)) {
    if (one.local) yield [{ ...given, [name]: fitting(one) }, '', `${name}, which is for the command line`];
    if (one.required) yield [{ ...given, [name]: undefined }, '', `${name} missing`];
    yield [{ ...given, [name]: OTHER[one.type] }, '', `${name} of another type`];
    if (one.enum) yield [{ ...given, [name]: 'no_such_word' }, '', `${name} that is none of its words`];
    if (one.type === 'integer') yield [{ ...given, [name]: 0 }, '', `${name} of 0`];
  }
}

describe('arguments of operations', { timeout: 120_000 }, () => {
  const workspace = makeWorkspace({ 'haft.yaml': 'version: 1\n' });
  let address = '';
  let child: ReturnType<typeof startHaft>;
  before(async () => {
    child = startHaft(['serve', '--port', '0', '--json'], {
      cwd: workspace.root,
      env: { HAFT_TOKEN: 'token-for-calls-only-0', HAFT_APPROVAL_TOKEN: TOKEN },
    });
    const [line] = await once(createInterface(child.stdout), 'line');
    ({ address } = JSON.parse(line as string));
  });
  after(async () => {
    child.kill('SIGTERM');
    await once(child, 'close');
    workspace.remove();
  });

  it('are refused over HTTP with 422 where the operation does not take them', async () => {
    const wrong: string[] = [];
    for (const { load } of Object.values(OPERATIONS)) {
      const operation = await load();
      for (const [args, query, why] of refused(operation)) {
        const response = await fetch(`${address}/v1/operations/${operation.id}${query}`, {
          method: 'POST',
          headers: { authorization: `Bearer ${TOKEN}` },
          body: JSON.stringify(args),
        });
        // What was taken may never end.
        const text = response.ok ? '' : await response.text();
        if (response.ok) await response.body?.cancel();
        if (response.status !== 422 || !/"reason":"(input\.schema|usage)"/.test(text))
          wrong.push(`${operation.id}, ${why}: ${response.status} ${text.slice(0, 120)}`);
      }
    }
    assert.deepEqual(wrong, []);
  });

  it('are refused at the command line where they are none of the words or no number', async () => {
    const wrong: string[] = [];
    let tried = 0;
    for (const { load } of Object.values(OPERATIONS)) {
      const operation = await load();
      const words = Object.values(operation.args).flatMap((one) =>
        one.positional && one.required ? [String(fitting(one))] : [],
      );
      for (const [name, { enum: choices, type, positional, secret }] of Object.entries(operation.args)) {
        if (positional || secret || (!choices && type !== 'integer')) continue;
        for (const value of choices ? ['no_such_word'] : ['0', '1.5', 'x', '-1']) {
          const argv = [...operation.id.split('.'), ...words, `--${name.replaceAll('_', '-')}=${value}`];
          tried++;
          const { status, document } = await cliJson(workspace.root, ...argv);
          if (status !== 2)
            wrong.push(`${argv.join(' ')}: ${status} ${JSON.stringify(document).slice(0, 120)}`);
        }
      }
    }
    assert.deepEqual(wrong, []);
    assert.ok(tried > 20, `${tried}`);
  });
});
