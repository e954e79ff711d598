// Owns: the proof that nothing gets out: every escape case is tried for real, as root and as an ordinary user.
// Refuses: a case that leaves no row in the audit, and a way of seeing success that was never seen to work.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, chmodSync, closeSync, openSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { CallResponse } from '../../src/index.ts';
import { makePlace, type Place, WHO } from './support/apart.ts';
import { type Arena, makeArena, SENTINEL } from './support/escape/arena.ts';
import type { Sight } from './support/escape/case.ts';
import { marked, watchArena } from './support/escape/sights.ts';
import { ESCAPE_CASES } from './support/escape-cases.ts';
import type { CaseReport } from './support/escape-run.ts';
import { makeWorkspace } from './support/workspace.ts';

const RUN = join(import.meta.dirname, 'support/escape-run.ts');

/** What must be tried, each at least once. */
const PROMISED = [
  ...['quoting', 'newlines', '$()', 'backticks', '<()', 'eval', 'sh -c', 'env -S', 'xargs', 'find -exec'],
  ...['git -c core.pager=', 'aliases', 'functions', 'here-documents', 'arithmetic', 'braces and globs'],
  ...['assignments', '"cargo x" as one word', 'LD_PRELOAD', '/proc/self/root', '/proc/1', 'ptrace', 'setuid'],
  ...[
    'mount',
    'remount',
    'namespaces',
    'symlink swaps',
    'hard-link swaps',
    'fifo',
    'fd passing',
    'UNIX sockets',
  ],
  ...['abstract sockets', 'DNS exfiltration', 'IPv6', '0.0.0.0', 'decimal and octal addresses'],
  ...['redirects to metadata addresses', 'DNS rebinding', 'proxy CONNECT to an IP', 'HTTP smuggling'],
  ...[
    'userinfo in URLs',
    'writing haft.yaml',
    'writing .git/hooks',
    'writing .haft',
    'fork bomb',
    'memory bomb',
  ],
  ...['folders that cannot be looked into', 'a workspace below', 'where git really lives'],
  ...[
    'names that do not exist yet',
    "a repository's own programs",
    'options of git',
    'options of other programs',
  ],
  ...['disk fill', 'endless output', 'ignoring SIGTERM', 'double fork + setsid'],
];

describe('escape cases', () => {
  it('are many, and of every kind', () => {
    const categories = new Set(ESCAPE_CASES.map(({ category }) => category));
    assert.deepEqual(
      PROMISED.filter((category) => !categories.has(category)),
      [],
    );
    assert.ok(ESCAPE_CASES.length >= 150, `${ESCAPE_CASES.length}`);
    const names = ESCAPE_CASES.map(({ category, name }) => `${category}: ${name}`);
    assert.equal(new Set(names).size, names.length);
  });
});

describe('a success', () => {
  let arena: Arena;
  before(async () => {
    arena = await makeArena(false);
  });
  after(() => arena.close());

  const printed = (stdout: string) => [{ data: { stdout, stderr: '' } } as CallResponse];
  /** Does what an attack would have done, and answers as its call would. */
  const DEEDS: Readonly<Record<Exclude<Sight, 'limit'>, () => Promise<readonly CallResponse[]>>> = {
    stub: async () => {
      arena.workspace.put('pwned', 'ran\n');
      return [];
    },
    outside: async () => {
      appendFileSync(arena.outside.path('secret.txt'), 'x');
      return [];
    },
    secret: async () => printed(`it is ${SENTINEL}`),
    connection: async () => {
      const socket = connect(arena.listeners.ports.closed, '127.0.0.1');
      await once(socket.resume(), 'close');
      return [];
    },
    process: async () => {
      const child = spawn('sleep', [arena.mark], { stdio: 'ignore' });
      after(() => child.kill('SIGKILL'));
      await once(child, 'spawn');
      while (marked(arena.mark).length === 0) await new Promise(setImmediate);
      return [];
    },
    protected: async () => {
      appendFileSync(arena.workspace.path('nested/.git/config'), '# changed\n');
      return [];
    },
    granted: async () => {
      writeFileSync(arena.workspace.path('suid'), '');
      chmodSync(arena.workspace.path('suid'), 0o4755);
      return [];
    },
  };

  for (const sight of Object.keys(DEEDS)) {
    it(`would be seen (${sight})`, async () => {
      arena.arm(true);
      const watch = watchArena(arena);
      assert.deepEqual(watch.look([]), {});
      const seen = watch.look(await DEEDS[sight as keyof typeof DEEDS]());
      assert.deepEqual(Object.keys(seen), [sight], JSON.stringify(seen));
    });
  }

  it('would be seen in what the kernel granted', () => {
    assert.deepEqual(Object.keys(watchArena(arena).look(printed('DONE mount 0'))), ['granted']);
  });
});

describe('escapes', () => {
  let place: Place;
  before(() => {
    place = makePlace();
  });
  after(() => place.close());

  for (const who of WHO) {
    it(`do not succeed as ${who}`, { timeout: 300_000 }, async (t) => {
      const network = who !== 'self';
      // A descriptor that whoever starts Haft left open, and that a program must not find.
      const leaked = makeWorkspace({ 'secret.txt': SENTINEL });
      const leak = openSync(leaked.root, 'r');
      const reports: CaseReport[] = [];
      const onLine = (line: string) => void reports.push(JSON.parse(line));
      const ran = await place.run(who, RUN, [network ? 'network' : 'plain'], { network, leak, onLine });
      closeSync(leak);
      leaked.remove();
      for (const { category, name, problems, calls } of reports)
        await t.test(`${category}: ${name}`, () => {
          assert.deepEqual(problems, []);
          assert.ok(calls > 0, 'no call of it was looked at');
        });
      assert.equal(ran.status, 0, ran.stderr.slice(-4000));
      const expected = ESCAPE_CASES.filter((one) => network || !one.network).length;
      assert.equal(reports.length, expected);
      const count = (ended: CaseReport['ended']) => reports.filter((one) => one.ended === ended).length;
      const succeeded = reports.filter(({ problems }) => problems.length > 0).length;
      t.diagnostic(
        `as ${who}: ${reports.length} cases, ${count('refused')} refused before running, ${count('contained')} contained, ${succeeded} succeeded`,
      );
    });
  }
});
