// Owns: the proof that a server that npx names is installed once, by a person, pinned by version and integrity, and run as installed.
// Refuses: the network: the registry is a server of this test.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { haft } from './support/haft.ts';
import { hubServer } from './support/hub-server.ts';
import { makeWorkspace } from './support/workspace.ts';

/** A registry with one package, whose install script would leave a mark. */
async function startRegistry(folder: string) {
  const pkg = join(folder, 'pkg');
  mkdirSync(pkg);
  const manifest = {
    name: 'hub-pkg',
    version: '1.2.3',
    type: 'module',
    bin: { 'hub-pkg': 'hub.mjs' },
    scripts: { postinstall: `touch ${join(folder, 'ran-a-script')}` },
  };
  writeFileSync(join(pkg, 'package.json'), JSON.stringify(manifest));
  writeFileSync(
    join(pkg, 'hub.mjs'),
    `import { word } from './word.mjs';\nif (word !== 'one') process.exit(1);\n${hubServer('Says it.')}`,
  );
  writeFileSync(join(pkg, 'word.mjs'), "export const word = 'one';\n");
  const packed = spawnSync('npm', ['pack', '--silent', '--pack-destination', folder], { cwd: pkg });
  assert.equal(packed.status, 0, String(packed.stderr));
  const archive = readFileSync(join(folder, 'hub-pkg-1.2.3.tgz'));
  const integrity = `sha512-${createHash('sha512').update(archive).digest('base64')}`;
  let asked = 0;
  const server = createServer((request, answer) => {
    asked++;
    if (request.url?.endsWith('.tgz')) return void answer.end(archive);
    const tarball = `http://${request.headers.host}/hub-pkg-1.2.3.tgz`;
    answer.setHeader('content-type', 'application/json');
    answer.end(
      JSON.stringify({
        name: 'hub-pkg',
        'dist-tags': { latest: '1.2.3' },
        versions: { '1.2.3': { ...manifest, dist: { tarball, integrity } } },
      }),
    );
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  return { url, integrity, asked: () => asked, close: () => server.close() };
}

describe('a server that npx names', { timeout: 180_000 }, () => {
  it('is installed by tools lock alone, without scripts, and runs from what was installed', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'haft-registry-'));
    const registry = await startRegistry(folder);
    const workspace = makeWorkspace({
      'haft.yaml': 'version: 1\npacks: [{ name: hub, mcp: { command: [npx, -y, hub-pkg@1.2.3] } }]\n',
    });
    const env = { npm_config_registry: registry.url, npm_config_cache: join(folder, 'cache') };
    const run = (...args: readonly string[]) => haft(args, { cwd: workspace.root, env });
    const echo = async () => JSON.parse((await run('call', 'hub.echo', '{"text":"hi"}')).stdout);
    try {
      const before = await run('call', 'hub.echo');
      assert.match(before.stderr, /"hub-pkg@1\.2\.3": it is not installed here; haft tools lock installs it/);
      assert.equal(registry.asked(), 0, 'nothing but a person installs');

      const locked = await run('tools', 'lock');
      assert.equal(locked.status, 0, locked.stderr);
      assert.doesNotMatch(locked.stdout, /not pinned/);
      assert.ok(!existsSync(join(folder, 'ran-a-script')));
      const lock = JSON.parse(readFileSync(workspace.path('haft.lock'), 'utf8'));
      assert.deepEqual(lock.packs.hub.files, { 'npm:hub-pkg@1.2.3': registry.integrity });

      registry.close();
      const asked = registry.asked();
      assert.equal((await echo()).ok, true);
      assert.equal((await run('tools', 'lock', '--frozen')).status, 0);
      assert.equal(registry.asked(), asked);

      const home = workspace.path('.haft/packs');
      const installed = readdirSync(home).find((name) => /^npm-[0-9a-f]+$/.test(name)) ?? '';
      writeFileSync(
        join(home, installed, 'node_modules/hub-pkg/word.mjs'),
        "export const word = 'one'; // other\n",
      );
      const { ok, errors } = await echo();
      assert.deepEqual([ok, errors[0].reason], [false, 'tool.changed']);
    } finally {
      registry.close();
      workspace.remove();
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it('may be a folder of this machine', async () => {
    const workspace = makeWorkspace({
      'haft.yaml': 'version: 1\npacks: [{ name: hub, mcp: { command: [npx, ./own] } }]\n',
      'own/package.json': '{"name":"own-hub","version":"0.1.0","type":"module","bin":"hub.mjs"}',
      'own/hub.mjs': hubServer('Says it.'),
    });
    try {
      const locked = await haft(['tools', 'lock'], { cwd: workspace.root });
      assert.equal(locked.status, 0, locked.stderr);
      workspace.put('own/hub.mjs', 'process.exit(1);\n');
      const { stdout } = await haft(['call', 'hub.echo', '{"text":"hi"}'], { cwd: workspace.root });
      assert.equal(JSON.parse(stdout).ok, true, stdout);
    } finally {
      workspace.remove();
    }
  });
});
