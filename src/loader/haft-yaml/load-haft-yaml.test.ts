// Owns: loading haft.yaml: the spec's own example, the defaults, the cache, and what stays when a reload fails.
// Refuses: single diagnostics; diagnostics.test.ts has each of them.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, beforeEach, describe, it } from 'node:test';
import { sha256Hex } from '../../base/digest.ts';
import { SECTIONS } from '../../policy/sections/index.ts';
import { BUILD_KEYS, loadHaftYaml } from './load-haft-yaml.ts';

const SPEC_EXAMPLE = `version: 1

network:
  allowed_domains: ["doc.rust-lang.org", "crates.io"]

shell_allow:
  - '^cargo(\\s|$)'
  - '^npm(\\s|$)'
  - '^rg(\\s|$)'

git:
  allow_push: true
  require_clean_tree_for_commit: true

ast:
  language: rust
  format_on_save: true
  validate_on_edit: true

validators:
  - rule: sec.network.allowlist
    enforcement: blocking
  - rule: sec.shell.allowlist
    enforcement: blocking
  - rule: sec.paths.sandbox
    enforcement: blocking
  - rule: code.ast.parsed
    enforcement: blocking
  - rule: build.must.pass
    enforcement: blocking
  - rule: lint.must.pass
    enforcement: blocking
  - rule: fmt.must.pass
    enforcement: blocking
  - rule: secrets.scan
    enforcement: blocking
  - rule: code.todo.blockers
    enforcement: blocking
`;

const folder = mkdtempSync(join(tmpdir(), 'haft-load-'));
after(() => rmSync(folder, { recursive: true }));
let workspace = '';
let made = 0;
beforeEach(() => {
  workspace = join(folder, `workspace-${made++}`);
  mkdirSync(join(workspace, '.haft'), { recursive: true });
});

const write = (text: string) => writeFileSync(join(workspace, 'haft.yaml'), text);
const cacheFile = (text: string) => join(workspace, '.haft', 'cache', 'policy', `${sha256Hex(text)}.json`);

describe('loadHaftYaml', () => {
  it("loads the SDK spec's example", async () => {
    write(SPEC_EXAMPLE);
    const { value, diagnostics } = await loadHaftYaml({ workspace });
    assert.deepEqual(diagnostics, []);
    assert.deepEqual(value?.file.network, { allowed_domains: ['doc.rust-lang.org', 'crates.io'] });
    assert.equal(value?.file.validators?.length, 9);
    assert.equal(value?.name, 'haft.yaml');
    assert.equal(value?.sha256, sha256Hex(SPEC_EXAMPLE));
    assert.equal(value?.lines['shell_allow[1]'], 8);
    assert.equal(value?.lines['git.allow_push'], 12);
  });

  it('refuses only the rules of that example that are not built in', async () => {
    write(SPEC_EXAMPLE);
    const { value, diagnostics } = await loadHaftYaml({ workspace, availableRules: ['code.ast.parsed'] });
    assert.equal(value, undefined);
    const errors = diagnostics.filter(({ severity }) => severity === 'error');
    assert.deepEqual(
      errors.map(({ code, line, column }) => `${code} ${line}:${column}`),
      [29, 31, 33, 35, 37].map((line) => `rule.unavailable ${line}:11`),
    );
  });

  it("tells how to write the spec's patterns, which are no YAML as they stand there", async () => {
    write(SPEC_EXAMPLE.replaceAll("'", '"'));
    const { value, diagnostics } = await loadHaftYaml({ workspace });
    assert.equal(value, undefined);
    assert.deepEqual(
      diagnostics.map(({ code, line, hint }) => `${code} ${line} ${hint}`),
      [`yaml.escape 7 - '^cargo(\\s|$)'`, `yaml.escape 8 - '^npm(\\s|$)'`, `yaml.escape 9 - '^rg(\\s|$)'`],
    );
  });

  it('answers with the defaults where there is no file', async () => {
    const { value, diagnostics } = await loadHaftYaml({ workspace });
    assert.deepEqual(diagnostics, []);
    assert.equal(value?.name, '(defaults)');
    assert.deepEqual(value?.file, { version: 1 });
    assert.equal(value?.resolved?.workspace, realpathSync(workspace));
  });

  it('says where roots and packs lead', async () => {
    mkdirSync(join(folder, 'beside'), { recursive: true });
    write('version: 1\npaths: {extra_roots: [../beside]}\npacks: [packs, {mcp: {command: [x]}}, ./lib.so]\n');
    const { value } = await loadHaftYaml({ workspace });
    const real = realpathSync(workspace);
    assert.deepEqual(value?.resolved?.extraRoots, [join(realpathSync(folder), 'beside')]);
    assert.deepEqual(value?.resolved?.packs, [join(real, 'packs'), join(real, 'lib.so')]);
    assert.deepEqual(value?.file.paths?.extra_roots, ['../beside']);
  });

  it('refuses a folder for runs that tools can reach', async () => {
    for (const [at, isFine] of [
      [workspace, false],
      [join(workspace, 'runs'), false],
      [join(folder, 'shared'), true],
    ] as const) {
      write(`version: 1\nruns: {folder: ${JSON.stringify(at)}}\n`);
      const codes = (await loadHaftYaml({ workspace })).diagnostics.map(({ code }) => code);
      assert.deepEqual(codes, isFine ? [] : ['folder.reachable']);
    }
  });

  it('loads another file by its name', async () => {
    writeFileSync(join(workspace, 'ci.yaml'), 'version: 1\n');
    assert.equal((await loadHaftYaml({ workspace, file: 'ci.yaml' })).value?.name, 'ci.yaml');
    const outside = join(folder, 'outside.yaml');
    writeFileSync(outside, 'version: 1\n');
    assert.equal((await loadHaftYaml({ workspace, file: outside })).value?.name, 'outside.yaml');
  });
});

describe('the cache of checked policies', () => {
  const TEXT = 'version: 1\nshell_allow: [cargo]\ntools: {rules: [{tool: curl, decision: ask}]}\n';

  it('answers the same, warnings included, without the YAML library', async () => {
    write(TEXT);
    const first = await loadHaftYaml({ workspace });
    assert.ok(existsSync(cacheFile(TEXT)));
    assert.deepEqual(await loadHaftYaml({ workspace }), first);
    assert.deepEqual(
      first.diagnostics.map(({ code }) => code),
      ['pattern.unanchored'],
    );

    const script = `
      import { registerHooks } from 'node:module';
      const loaded = [];
      registerHooks({ resolve(name, context, next) { loaded.push(name); return next(name, context); } });
      const { loadHaftYaml } = await import(${JSON.stringify(new URL('./load-haft-yaml.ts', import.meta.url).href)});
      const { value } = await loadHaftYaml({ workspace: ${JSON.stringify(workspace)} });
      console.log(JSON.stringify({ name: value.name, loaded }));`;
    const output = execFileSync(process.execPath, ['--input-type=module', '-e', script], {
      encoding: 'utf8',
    });
    const { name, loaded } = JSON.parse(output) as { name: string; loaded: string[] };
    assert.equal(name, 'haft.yaml');
    const heavy = loaded.filter((one) => /yaml$|re2js|node:crypto|check-policy/.test(one));
    assert.deepEqual(heavy, []);
  });

  it('is not taken from a file that this machine did not write there', async () => {
    write(TEXT);
    await loadHaftYaml({ workspace });
    const entry = cacheFile(TEXT);
    const forged = readFileSync(entry, 'utf8').replace('"ask"', '"allow"');
    // As a clone or an archive would bring it along: the same text, another file.
    copyFileSync(entry, `${entry}.old`);
    rmSync(entry);
    writeFileSync(entry, forged);
    const { value } = await loadHaftYaml({ workspace });
    assert.equal(value?.file.tools?.rules?.[0]?.decision, 'ask');
  });

  it('knows the last one by its bytes, and no other for it', async () => {
    write(TEXT);
    const first = await loadHaftYaml({ workspace });
    await loadHaftYaml({ workspace });
    const last = join(workspace, '.haft', 'cache', 'policy', 'last.json');
    assert.ok(existsSync(last));
    rmSync(cacheFile(TEXT));
    assert.deepEqual(await loadHaftYaml({ workspace }), first);
    assert.equal(existsSync(cacheFile(TEXT)), false, 'it was not parsed again');

    const other = TEXT.replace('curl', 'grep');
    write(other);
    const { value } = await loadHaftYaml({ workspace });
    assert.deepEqual([value?.file.tools?.rules?.[0]?.tool, value?.sha256], ['grep', sha256Hex(other)]);

    write(TEXT);
    const forged = readFileSync(last, 'utf8').replace('"ask"', '"allow"');
    copyFileSync(last, `${last}.old`);
    rmSync(last);
    writeFileSync(last, forged);
    assert.deepEqual(await loadHaftYaml({ workspace }), first);
  });

  it('is not used for another text, and never keeps a policy with errors', async () => {
    write(TEXT);
    await loadHaftYaml({ workspace });
    const bad = TEXT.replace('ask', 'akk');
    write(bad);
    assert.equal((await loadHaftYaml({ workspace })).value, undefined);
    assert.equal(existsSync(cacheFile(bad)), false);
  });

  it('still checks what depends on the machine', async () => {
    const beside = join(folder, 'soon-gone');
    mkdirSync(beside);
    write('version: 1\npaths:\n  extra_roots: [../soon-gone]\n');
    assert.deepEqual((await loadHaftYaml({ workspace })).diagnostics, []);
    rmSync(beside, { recursive: true });
    const { value, diagnostics } = await loadHaftYaml({ workspace });
    assert.equal(value, undefined);
    assert.deepEqual(
      diagnostics.map(({ code, line, column }) => `${code} ${line}:${column}`),
      ['root.missing 3:17'],
    );
  });

  it('is left out where there is no state folder, and never stands in the way', async () => {
    rmSync(join(workspace, '.haft'), { recursive: true });
    write(TEXT);
    assert.ok((await loadHaftYaml({ workspace })).value);
    assert.equal(existsSync(join(workspace, '.haft')), false);
    writeFileSync(join(workspace, '.haft'), 'not a folder');
    assert.ok((await loadHaftYaml({ workspace })).value);
  });

  it('survives a damaged entry and does not grow without end', async () => {
    write(TEXT);
    await loadHaftYaml({ workspace });
    writeFileSync(cacheFile(TEXT), '{');
    assert.ok((await loadHaftYaml({ workspace })).value);
    const cache = join(workspace, '.haft', 'cache', 'policy');
    for (let at = 0; at < 1_100; at++) writeFileSync(join(cache, `${at}.json`), '{}');
    write(`${TEXT}# another\n`);
    await loadHaftYaml({ workspace });
    const kept = readdirSync(cache);
    assert.ok(kept.length <= 1_000, `${kept.length} entries`);
    assert.deepEqual(
      kept.filter((name) => !name.endsWith('.json')),
      [],
    );
  });

  it('is readable to its owner alone', async () => {
    write(TEXT);
    chmodSync(join(workspace, '.haft'), 0o700);
    await loadHaftYaml({ workspace });
    const { statSync } = await import('node:fs');
    assert.equal(statSync(cacheFile(TEXT)).mode & 0o777, 0o600);
  });
});

describe('loadHaftYaml, again', () => {
  it('has no policy where the file has errors by now, and the new one once it has none', async () => {
    write('version: 1\nsandbox: optional\n');
    const { value: before } = await loadHaftYaml({ workspace });
    assert.ok(before);
    write('version: 1\nsandbox: optionall\n');
    const bad = await loadHaftYaml({ workspace });
    assert.equal(bad.value, undefined);
    assert.equal(bad.diagnostics[0]?.code, 'value.choice');
    write('version: 1\nsandbox: required\n');
    const good = await loadHaftYaml({ workspace });
    assert.equal(good.value?.file.sandbox, 'required');
    assert.notEqual(good.value?.sha256, before.sha256);
  });
});

describe('loadHaftYaml and the file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'haft-policy-file-'));
  after(() => rmSync(folder, { recursive: true }));

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

it('BUILD_KEYS are the sections that check the build or have keys without an effect', () => {
  const asking = SECTIONS.filter(({ checkBuild, unused }) => checkBuild ?? unused);
  assert.deepEqual(
    BUILD_KEYS,
    asking.map(({ key }) => key),
  );
});
