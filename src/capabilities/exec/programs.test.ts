import assert from 'node:assert/strict';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, it } from 'node:test';
import type { EgressConnection } from '../../contract/http.ts';
import { NO_NEEDS, type Program, type ProgramNeeds } from '../../contract/program.ts';
import { openProxy } from '../../preset/capabilities.ts';
import { declared, withPrograms } from './programs-for-tests.ts';

const FILES = {
  'data/in.txt': 'in',
  'data/.env': 'KEY=1',
  'src/other.txt': 'other',
  'packs/p/tool.py': 'print("hello")',
};

const sh = (line: string, needs: Partial<ProgramNeeds> = {}, rest: Partial<Program> = {}): Program => ({
  argv: ['sh', '-c', line],
  env: {},
  needs: { ...NO_NEEDS, subprocess: true, ...needs },
  ...rest,
});
const text = (bytes: Uint8Array) => Buffer.from(bytes).toString();

describe('exec.run', () => {
  it('shows a program what it reads, what it writes and what it is made of, and nothing else', async () => {
    await withPrograms(FILES, async ({ root, call }) => {
      const beside = mkdtempSync(join(tmpdir(), 'haft-pack-'));
      writeFileSync(join(beside, 'part'), 'beside');
      const needs = {
        reads: ['data', 'absent'],
        writes: ['out/new'],
        parts: [join(root, 'packs/p'), beside],
      };
      const { stdout, stderr, code } = await call().run(
        sh(`find . -type f | sort; cat ${beside}/part; echo; echo x > out/new/f; echo y > data/g`, needs),
        {},
      );
      rmSync(beside, { recursive: true });
      assert.equal(text(stdout), './data/.env\n./data/in.txt\n./packs/p/tool.py\nbeside\n');
      assert.match(text(stderr), /data\/g: Read-only/);
      assert.notEqual(code, 0);
      assert.equal(readFileSync(join(root, 'out/new/f'), 'utf8'), 'x\n');
    });
  });

  it('shows the files that a command names read-only, and as granted those that lie where it may write', async () => {
    await withPrograms(FILES, async ({ root, call }) => {
      const needs = { named: ['src/other.txt', 'data/in.txt', 'absent'], writes: ['data'] };
      const { stdout, stderr, code } = await call().run(
        sh(
          'cat src/other.txt; echo x > data/new && mv data/new data/in.txt && echo y > src/other.txt',
          needs,
        ),
        {},
      );
      assert.equal(text(stdout), 'other');
      assert.match(text(stderr), /^[^\n]*src\/other.txt: Read-only[^\n]*\n$/);
      assert.notEqual(code, 0);
      assert.equal(readFileSync(join(root, 'data/in.txt'), 'utf8'), 'x\n');
    });
  });

  it('hides what policy hides and protects what it protects', async () => {
    await withPrograms(FILES, async ({ call }) => {
      const fences = [
        { glob: '**/.env', read: true, write: true },
        { glob: 'data/in.txt', read: false, write: true },
      ];
      const { stdout } = await call({ policy: { fences } }).run(
        sh('cat data/.env; cat data/in.txt; echo x > data/in.txt && echo written', { writes: ['data'] }),
        {},
      );
      assert.equal(text(stdout), 'in');
    });
  });

  it('leaves open what a fence does not hold for, and all below', async () => {
    const files = { 'data/.npmrc': 'own', 'data/node_modules/a/.npmrc': 'theirs' };
    await withPrograms(files, async ({ call }) => {
      const fences = [{ glob: '**/.npmrc', read: false, write: true, except: ['**/node_modules'] }];
      const { stdout } = await call({ policy: { fences } }).run(
        sh('for f in data/.npmrc data/node_modules/a/.npmrc; do echo new > $f; cat $f; done', {
          writes: ['data'],
        }),
        {},
      );
      assert.equal(text(stdout), 'ownnew\n');
    });
  });

  it('walks a whole workspace and finds nothing of its state, instead of failing there', async () => {
    await withPrograms(
      { 'a/x': '', '.haft/haft.db': 'state', 'in/.haft/haft.db': 'state' },
      async ({ call }) => {
        const walk = sh('find . -name "*.db"; find . -type d | sort | tr "\\n" " "; grep -rc state .', {
          reads: ['.'],
        });
        const { stdout, stderr, code } = await call().run(walk, {});
        assert.deepEqual(
          [text(stdout).split('\n')[0], text(stderr), code],
          ['. ./.haft ./a ./in ./in/.haft ./a/x:0', '', 1],
        );
      },
    );
  });

  it('has PATH, HOME, TMPDIR and LANG, what it is given, and no other variable', async () => {
    await withPrograms({}, async ({ call }) => {
      const { stdout } = await call().run(
        { argv: ['env'], env: { MINE: '1' }, needs: NO_NEEDS },
        { captureBytes: 10_000 },
      );
      const names = text(stdout)
        .trim()
        .split('\n')
        .map((line) => line.split('=')[0]);
      assert.deepEqual(names.sort(), ['HOME', 'LANG', 'MINE', 'PATH', 'PWD', 'TMPDIR']);
    });
  });

  it('runs the Node.js that runs this', async () => {
    await withPrograms({}, async ({ call }) => {
      const argv = ['node', '-p', 'process.version'] as const;
      const { stdout } = await call().run({ argv, env: {}, needs: NO_NEEDS }, {});
      assert.equal(text(stdout).trim(), process.version);
    });
  });

  it('refuses each need that the call did not declare', async () => {
    const NEEDS: Partial<ProgramNeeds>[] = [
      { subprocess: true },
      { reads: ['data'] },
      { writes: ['out'] },
      { network: ['https'] },
    ];
    await withPrograms(FILES, async ({ root, call }) => {
      for (const one of NEEDS) {
        const program = { argv: ['true'], env: {}, needs: { ...NO_NEEDS, ...one } } as const;
        await assert.rejects(call({ effects: [] }).run(program, {}), { reason: 'policy.undeclared' });
        await assert.rejects(call({ effects: [] }).start(program), { reason: 'policy.undeclared' });
        await assert.rejects(call({ effects: [] }).profile(program), { reason: 'policy.undeclared' });
        const denied = call({ effects: declared(program), denies: () => true });
        await assert.rejects(denied.run(program, {}), { reason: 'policy.denied' });
      }
      const command = { argv: ['true'], command: 'true', env: {}, needs: NO_NEEDS } as const;
      await assert.rejects(call({ effects: [] }).run(command, {}), { reason: 'policy.undeclared' });
      await call({ effects: declared(command) }).run(command, {});
      assert.equal(existsSync(join(root, 'out')), false);
    });
  });

  it('does not make a folder behind a link that leaves the workspace', async () => {
    await withPrograms({}, async ({ root, call }) => {
      const beside = mkdtempSync(join(tmpdir(), 'haft-beside-'));
      mkdirSync(join(beside, 'x'));
      symlinkSync(beside, join(root, 'link'));
      await assert.rejects(call().run(sh('true', { writes: ['link/new'] }), {}), {
        reason: 'path.outside_workspace',
      });
      assert.equal(existsSync(join(beside, 'new')), false);
      rmSync(beside, { recursive: true });
    });
  });

  it('ends with the reason of the signal, and with time', async () => {
    await withPrograms({}, async ({ call }) => {
      const controller = new AbortController();
      const reason = new Error('enough');
      const onOutput = () => controller.abort(reason);
      const running = call().run(sh('echo; sleep 60'), { signal: controller.signal, onOutput });
      await assert.rejects(running, (thrown) => thrown === reason);
      assert.equal((await call().run(sh('sleep 60'), { timeoutMs: 50 })).timedOut, true);
    });
  });

  it('lets through the proxy what policy allows, for the schemes that it needs, and tells of all', async () => {
    const server = createServer((_, answer) => answer.end('from outside')).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const code = [
      'import urllib.request as r, sys',
      'for url in sys.argv[1:]:',
      '  try: print(r.urlopen(url).read().decode())',
      '  except Exception as e: print(type(e).__name__)',
    ].join('\n');
    const program = (network: readonly string[]): Program => ({
      argv: ['python3', '-c', code, `http://127.0.0.1:${port}/`, `http://localhost:${port}/`],
      env: {},
      needs: { ...NO_NEEDS, network },
    });
    try {
      await withPrograms(
        {},
        async ({ call }) => {
          const denies = (effect: object) => 'host' in effect && effect.host === 'localhost';
          const both = await call({ effects: declared(program(['http'])), denies }).run(
            program(['http']),
            {},
          );
          assert.equal(text(both.stdout), 'from outside\nHTTPError\n');
          assert.deepEqual(
            both.connections.map(({ host, outcome }) => [host, outcome]),
            [
              ['127.0.0.1', 'done'],
              ['localhost', 'denied'],
            ],
          );
          const secure = await call({ effects: declared(program(['https'])) }).run(program(['https']), {});
          assert.equal(text(secure.stdout), 'HTTPError\nHTTPError\n');
          const none = await call().run(program([]), {});
          assert.equal(text(none.stdout), 'URLError\nURLError\n');
        },
        openProxy,
      );
    } finally {
      server.close();
    }
  });
});

describe('exec.start', () => {
  it('keeps a program that is talked to, and decides its connections for the call that it serves', async () => {
    const server = createServer((_, answer) => answer.end()).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const code = [
      'import sys, urllib.request as r',
      'for line in sys.stdin:',
      `  try: print(r.urlopen("http://127.0.0.1:${port}/").status, flush=True)`,
      '  except Exception as e: print(e.code, flush=True)',
    ].join('\n');
    const needs = { ...NO_NEEDS, network: ['http'] };
    const program: Program = { argv: ['python3', '-c', code], env: {}, needs };
    try {
      await withPrograms(
        {},
        async ({ call }) => {
          const heard: string[] = [];
          const note = (who: string) => (connection: EgressConnection) =>
            void heard.push(`${who} ${connection.outcome}`);
          const first = call({ effects: declared(program) });
          const standing = await first.start(program, note('first'));
          const lines = createInterface({ input: standing.stdout })[Symbol.asyncIterator]();
          const ask = async () => {
            standing.stdin.write('go\n');
            return (await lines.next()).value;
          };
          assert.equal(await ask(), '200');
          const denies = (effect: object) => 'host' in effect && effect.host !== '*';
          const second = call({ effects: declared(program), denies });
          assert.equal(await second.profile(program), standing.profile);
          second.adopt(standing, note('second'));
          assert.equal(await ask(), '403');
          assert.equal((await standing.stop()).aborted, false);
          assert.deepEqual(heard, ['first done', 'second denied']);
        },
        openProxy,
      );
    } finally {
      server.close();
    }
  });

  it('has another profile for another program, other needs and other rules', async () => {
    await withPrograms(FILES, async ({ call }) => {
      const base = sh('true', { reads: ['data'] });
      const profiles = await Promise.all([
        call().profile(base),
        call().profile(sh('false', { reads: ['data'] })),
        call().profile(sh('true', { reads: ['src'] })),
        call().profile({ ...base, env: { A: 'b' } }),
        call().profile({ ...base, needs: { ...base.needs, network: ['http'] } }),
        call({ policy: { fences: [{ glob: '**/.env', read: true, write: true }] } }).profile(base),
      ]);
      assert.equal(new Set(profiles).size, profiles.length);
      assert.equal(await call().profile(sh('true', { reads: ['data'] })), profiles[0]);
    });
  });
});
