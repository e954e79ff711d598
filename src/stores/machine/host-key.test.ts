import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { createCredentialFiles, ensureHostKey, readHostKey } from './host-key.ts';
import type { MachineSite } from './machine-file.ts';

describe('the host key', () => {
  it('is made once, of 32 random bytes, for its owner alone', () =>
    inFolder((folder) => {
      const site = siteOf(folder);
      assert.equal(readHostKey(site), undefined);
      const key = ensureHostKey(site);
      assert.equal(key.length, 32);
      assert.deepEqual(ensureHostKey(site), key);
      assert.deepEqual(readHostKey(site), key);
      assert.equal(statSync(join(folder, 'config/haft')).mode & 0o777, 0o700);
      assert.equal(statSync(join(folder, 'config/haft/key')).mode & 0o777, 0o600);
      assert.deepEqual(readdirSync(join(folder, 'config/haft')), ['key']);
    }));

  it('is the same for all processes that make it at once', () =>
    inFolder(async (folder) => {
      const module = new URL('./host-key.ts', import.meta.url).href;
      const code = `import { ensureHostKey } from ${JSON.stringify(module)};
        process.stdout.write(Buffer.from(ensureHostKey(${JSON.stringify(siteOf(folder))})).toString('hex'));`;
      const keys = await Promise.all(Array.from({ length: 4 }, () => outputOf(code)));
      assert.equal(new Set(keys).size, 1);
      assert.match(keys[0]!, /^[0-9a-f]{64}$/);
    }));

  it('comes from HAFT_KEY where that is set, and then no file is made', () =>
    inFolder((folder) => {
      const given = Buffer.alloc(32, 7);
      const site = { ...siteOf(folder), env: { HAFT_KEY: given.toString('base64') } };
      assert.deepEqual(ensureHostKey(site), given);
      assert.deepEqual(ensureHostKey({ ...site, env: { HAFT_KEY: given.toString('base64url') } }), given);
      assert.deepEqual(readdirSync(folder), ['workspace']);
    }));

  it('is refused where it is not 32 bytes of base64, without showing it', () =>
    inFolder((folder) => {
      for (const HAFT_KEY of ['short', 'not base64 at all', Buffer.alloc(31).toString('base64'), '=']) {
        assert.throws(
          () => readHostKey({ ...siteOf(folder), env: { HAFT_KEY } }),
          (failure: Error & { reason?: string }) =>
            failure.reason === 'credentials.key' &&
            !failure.message.includes(HAFT_KEY.slice(0, 8) + HAFT_KEY.slice(8)),
          HAFT_KEY,
        );
      }
    }));

  it('is refused from a file that others can read, or that is a link', () =>
    inFolder((folder) => {
      const site = siteOf(folder);
      ensureHostKey(site);
      const file = join(folder, 'config/haft/key');
      chmodSync(file, 0o640);
      assert.throws(() => ensureHostKey(site), { reason: 'credentials.key', message: /chmod 600/ });
      chmodSync(file, 0o600);
      const text = readFileSync(file);
      rmSync(file);
      writeFileSync(join(folder, 'elsewhere'), text, { mode: 0o600 });
      symlinkSync(join(folder, 'elsewhere'), file);
      assert.throws(() => ensureHostKey(site), { reason: 'credentials.key', message: /it is a link/ });
    }));

  it('is refused from a pipe, and nobody waits for it', () =>
    inFolder((folder) => {
      mkdirSync(join(folder, 'config/haft'), { recursive: true, mode: 0o700 });
      execFileSync('mkfifo', ['-m', '600', join(folder, 'config/haft/key')]);
      assert.throws(() => ensureHostKey(siteOf(folder)), {
        reason: 'credentials.key',
        message: /not a regular file/,
      });
    }));

  it('is never kept in the workspace, also where a link leads there', () =>
    inFolder((folder) => {
      const workspace = join(folder, 'workspace');
      const refused = { reason: 'credentials.key', message: /lies in the workspace/ };
      for (const env of [{ HOME: workspace }, { XDG_CONFIG_HOME: join(workspace, 'x') }]) {
        assert.throws(() => ensureHostKey({ workspace, env }), refused);
      }
      symlinkSync(workspace, join(folder, 'link'));
      assert.throws(() => ensureHostKey({ workspace, env: { HOME: join(folder, 'link') } }), refused);
      assert.deepEqual(readdirSync(workspace), []);
      assert.throws(() => ensureHostKey({ workspace, env: {} }), {
        reason: 'credentials.key',
        message: /set HOME/,
      });
    }));
});

const siteOf = (folder: string): MachineSite => ({
  workspace: join(folder, 'workspace'),
  env: { XDG_CONFIG_HOME: join(folder, 'config') },
});

async function inFolder(test: (folder: string) => unknown): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'haft-key-'));
  mkdirSync(join(folder, 'workspace'));
  try {
    await test(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function outputOf(code: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['--input-type=module', '-e', code], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let text = '';
    child.stdout.on('data', (chunk) => {
      text += chunk;
    });
    child.once('close', (status) => (status === 0 ? resolve(text) : reject(new Error(`exit ${status}`))));
  });
}

it('createCredentialFiles answers a pipe as a damaged credential, and waits for nobody', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'haft-credentials-'));
  try {
    const workspace = join(folder, 'workspace');
    const config = join(folder, 'config');
    mkdirSync(workspace);
    mkdirSync(join(config, 'haft/credentials'), { recursive: true, mode: 0o700 });
    execFileSync('mkfifo', ['-m', '600', join(config, 'haft/credentials/pipe.json')]);
    const rows = createCredentialFiles({ workspace, env: { XDG_CONFIG_HOME: config } });
    const [row] = await rows.list();
    assert.deepEqual([row?.provider, row?.box], ['pipe', '']);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
