// Owns: what servers that hang, die, flood or lie cost calls that have nothing to do with them.
// Refuses: to measure them: eight others beside them are called, and a builtin tool.
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DefaultRuntime } from '../../src/preset/default.ts';
import { trustForTests } from '../../src/preset/trust/trust-for-tests.ts';
import { BAD_SERVERS } from '../../test/e2e/support/bad-servers.ts';
import { hubServer } from '../../test/e2e/support/hub-server.ts';
import { drive } from '../drive.ts';
import { makeWorkspace } from '../fixtures.ts';
import { type Comparison, defineSubject } from '../measure.ts';
import { mustCall, openRuntime } from '../product.ts';

interface State {
  readonly twelve: DefaultRuntime;
  readonly eight: DefaultRuntime;
  /** Calls of the four, which wait or fail meanwhile. */
  readonly calls: AbortController;
}

const GOOD = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].map((letter) => `good_${letter}`);
const TWELVE = 'beside four that hang, die, flood or lie';
const EIGHT = 'eight servers alone';

function workspaceOf(servers: Readonly<Record<string, string>>): string {
  const workspace = makeWorkspace();
  const lines = Object.entries(servers).map(([name, source]) => {
    mkdirSync(join(workspace, name));
    writeFileSync(join(workspace, name, 'server.mjs'), source);
    return `  - { name: ${name}, mcp: { command: [node, ${name}/server.mjs] } }\n`;
  });
  appendFileSync(join(workspace, 'haft.yaml'), `packs:\n${lines.join('')}`);
  trustForTests(workspace);
  return workspace;
}

const comparison = (name: string, tool: string, args: Parameters<typeof mustCall>[2]): Comparison<State> => ({
  name,
  rounds: 15,
  contenders: {
    [TWELVE]: ({ twelve }, { sliceMs }) =>
      drive(() => mustCall(twelve, tool, args), { inFlight: 1, ms: sliceMs, atLeast: 50 }),
    [EIGHT]: ({ eight }, { sliceMs }) =>
      drive(() => mustCall(eight, tool, args), { inFlight: 1, ms: sliceMs, atLeast: 50 }),
  },
  goals: [{ figure: 'p50', ratio: '<=', value: 1.2, of: EIGHT }],
  also: [{ figure: 'p95', of: EIGHT }],
});

export const serversDown = defineSubject<State>({
  name: 'servers-down',
  about:
    'Calls of a builtin tool and of one of eight MCP servers, while four others of the same workspace hang, die, flood both of their ' +
    'streams or lie about their tools, and are called all the time; against a workspace that has the eight alone.',
  async open() {
    const good = Object.fromEntries(GOOD.map((name) => [name, hubServer('Says it back.')]));
    const twelve = await openRuntime(workspaceOf({ ...good, ...BAD_SERVERS }));
    const eight = await openRuntime(workspaceOf(good));
    const calls = new AbortController();
    const { signal } = calls;
    const again = async (tool: string) => {
      while (!signal.aborted) {
        await twelve.call({ tool, args: {} }, { signal });
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    };
    for (const name of Object.keys(BAD_SERVERS)) void again(`${name}.fine`);
    for (const runtime of [twelve, eight])
      for (const name of GOOD) await mustCall(runtime, `${name}.echo`, { text: 'warm' });
    return { twelve, eight, calls };
  },
  async close({ twelve, eight, calls }) {
    calls.abort();
    await Promise.all([twelve.close(), eight.close()]);
  },
  comparisons: [
    comparison('a read of a file', 'file_read', { path: 'haft.yaml' }),
    comparison('a call of another server', 'good_a.echo', { text: 'hi' }),
  ],
});
