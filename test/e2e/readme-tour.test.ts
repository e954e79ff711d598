// Owns: the proof that the README is true: its tour is taken in a fresh folder, on a terminal, and prints what the README shows.
// Not here: installing the package, and the SDK (installed-package.test.ts); the tests under Development are those that run this one.
// With HAFT_UPDATE_README=1 it writes what is printed into the README instead.
import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { builtCommand } from '../support/built-command.ts';
import { eventually } from '../support/eventually.ts';

const README = join(import.meta.dirname, '../../README.md');
const text = readFileSync(README, 'utf8');

interface Step {
  readonly command: string;
  /** What the README shows below it. */
  readonly shown: string;
}

const blocksOf = (language: string): readonly string[] =>
  [...text.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm'))].map(
    ([, block = '']) => block,
  );

const TOUR: readonly Step[] = blocksOf('console')
  .flatMap((block) => block.split(/^(?=\$ )/m))
  .map((part) => {
    const [command = '', ...shown] = part.trimEnd().split('\n');
    return { command: command.slice(2), shown: shown.join('\n') };
  });

/** What differs each time, by name. */
const PLACEHOLDERS: readonly (readonly [RegExp, string])[] = [
  [/\b(call|req|act|appr)_[a-z0-9]{20}\b/g, '<$1 id>'],
  [/\b[0-9a-f]{64}\b/g, '<sha256>'],
  [/"duration_ms":[\d.]+/g, '"duration_ms":<ms>'],
  [/\b\d{4}-\d\d-\d\dT[\d:.]+Z\b/g, '<time>'],
];
const named = (shown: string) =>
  PLACEHOLDERS.reduce((rest, [pattern, name]) => rest.replaceAll(pattern, name), shown);
const ID = /\b(?:call|appr)_[a-z0-9]{20}\b/g;

let temp: string;
let cwd: string;
let env: NodeJS.ProcessEnv;
before(() => {
  temp = realpathSync.native(mkdtempSync(join(tmpdir(), 'haft-tour-')));
  cwd = temp;
  const bin = join(temp, 'bin');
  mkdirSync(bin);
  writeFileSync(join(bin, 'haft'), `#!/bin/sh\nexec '${process.execPath}' '${builtCommand()}' "$@"\n`);
  chmodSync(join(bin, 'haft'), 0o755);
  const PATH = `${bin}:${dirname(process.execPath)}:${process.env.PATH}`;
  const own = { XDG_CONFIG_HOME: join(temp, 'config'), XDG_CACHE_HOME: join(temp, 'cache') };
  env = { ...process.env, ...own, PATH, NO_COLOR: '1' };
});
after(() => rmSync(temp, { recursive: true, force: true }));

/** As typed, on a terminal. `script` of util-linux makes one. */
function type(command: string): string {
  const line = `cd '${cwd}' && ${command}; pwd > '${temp}/cwd'`;
  const { stdout } = spawnSync('script', ['-qec', line, '/dev/null'], { env, encoding: 'utf8', input: '' });
  cwd = readFileSync(join(temp, 'cwd'), 'utf8').trim();
  // What is drawn while one waits is gone when the answer is there.
  return stdout
    .replaceAll('\r\n', '\n')
    .replaceAll(/\r\x1b\[K[^\r\n]*(?=\r)|\r\x1b\[K/g, '')
    .trimEnd();
}

describe('the tour of the README', () => {
  /** An id that the README shows, and what stands for it this time. */
  const ids = new Map<string, string>();

  it('is there, and shows what each command prints', () => {
    assert.ok(TOUR.length > 5);
    let written = text;
    for (const { command, shown } of TOUR) {
      const typed = command.replaceAll(ID, (id) => ids.get(id) ?? [...ids.values()].at(-1) ?? id);
      const printed = type(typed);
      const now = [...printed.matchAll(ID)].map(([id]) => id);
      if (process.env.HAFT_UPDATE_README) {
        for (const id of now) ids.set(id, id);
        const [from, to] = [
          `$ ${command}\n${shown && `${shown}\n`}`,
          `$ ${typed}\n${printed && `${printed}\n`}`,
        ];
        written = written.replace(from, () => to);
        continue;
      }
      assert.equal(named(printed), named(shown), `$ ${command}`);
      for (const [at, [id]] of [...shown.matchAll(ID)].entries()) ids.set(id, now[at]!);
    }
    if (process.env.HAFT_UPDATE_README) writeFileSync(README, written);
  });

  it('can be gone on with over HTTP', async () => {
    const command = blocksOf('sh').find((block) => block.startsWith('curl '))!;
    const served = { ...env, HAFT_TOKEN: 'token-of-the-readme-tour' };
    const server = spawn('haft', ['serve', '--port', '0'], { cwd, env: served });
    try {
      let said = '';
      server.stdout.setEncoding('utf8').on('data', (part: string) => (said += part));
      server.stderr.setEncoding('utf8').on('data', (part: string) => (said += part));
      const isUp = () => server.exitCode !== null || /http:\/\/127\.0\.0\.1:\d+/.test(said);
      await eventually(isUp, () => `an address: ${said}`);
      const [address = ''] = /http:\/\/127\.0\.0\.1:\d+/.exec(said) ?? [];
      const line = command.replace('http://127.0.0.1:4280', address);
      assert.notEqual(line, command, said);
      const answer = execFileSync('sh', ['-c', line], {
        env: { ...env, TOKEN: served.HAFT_TOKEN },
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
      });
      assert.equal(JSON.parse(answer).ok, true);
    } finally {
      if (server.exitCode === null) {
        server.kill();
        await once(server, 'close');
      }
    }
  });

  it('can be gone on with over MCP, by the configuration that it installs', () => {
    const [install = ''] = blocksOf('sh').flatMap((block) => block.match(/^haft mcp install \w+/m) ?? []);
    const { stdout: printed } = spawnSync('sh', ['-c', `${install} --print`], { env, encoding: 'utf8', cwd });
    const { command, args } = JSON.parse(printed).mcpServers.haft;
    const params = {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 't', version: '1' },
    };
    const input = `${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params })}\n`;
    const { stdout } = spawnSync(command, args, { env, input, encoding: 'utf8', cwd: temp });
    assert.equal(JSON.parse(stdout).result.serverInfo.name, 'haft');
  });

  it('names the commands of Development as CI runs them', () => {
    const development = text.slice(text.indexOf('\n## Development\n'));
    assert.match(development, /^npm ci && npm run verify\b/m);
    assert.ok(text.indexOf('\n## One minute\n') < text.indexOf('\n## Development\n'));
  });
});
