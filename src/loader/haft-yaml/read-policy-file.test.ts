// Owns: which files are taken for haft.yaml, and which are not.
// Refuses: what stands in them.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { loadHaftYaml } from './load-haft-yaml.ts';

const folder = mkdtempSync(join(tmpdir(), 'haft-policy-file-'));
after(() => rmSync(folder, { recursive: true }));

describe('loadHaftYaml', () => {
  it('refuses a file that is a link to where tools may write, and follows one that is not', async () => {
    const linked = join(folder, 'linked');
    mkdirSync(linked);
    writeFileSync(join(linked, 'policy.yaml'), 'version: 1\n');
    symlinkSync('policy.yaml', join(linked, 'haft.yaml'));
    const inside = await loadHaftYaml({ workspace: linked });
    assert.equal(inside.diagnostics[0]?.code, 'file.link');
    assert.equal(inside.value, undefined);
    rmSync(join(linked, 'haft.yaml'));
    writeFileSync(join(folder, 'shared.yaml'), 'version: 1\n');
    symlinkSync('../shared.yaml', join(linked, 'haft.yaml'));
    assert.deepEqual((await loadHaftYaml({ workspace: linked })).diagnostics, []);
    mkdirSync(join(folder, 'granted'));
    writeFileSync(join(folder, 'granted', 'ci.yaml'), 'version: 1\npaths: {extra_roots: [../granted]}\n');
    const granted = await loadHaftYaml({ workspace: linked, file: join(folder, 'granted', 'ci.yaml') });
    assert.equal(granted.diagnostics[0]?.code, 'file.link');
  });

  it('refuses a folder in place of the file, and a named file that is not there', async () => {
    const odd = join(folder, 'odd');
    mkdirSync(join(odd, 'haft.yaml'), { recursive: true });
    assert.equal((await loadHaftYaml({ workspace: odd })).diagnostics[0]?.code, 'file.not_regular');
    const missing = await loadHaftYaml({ workspace: odd, file: 'ci.yaml' });
    assert.equal(missing.diagnostics[0]?.code, 'file.missing');
    assert.equal(missing.diagnostics[0]?.file, 'ci.yaml');
  });
});
