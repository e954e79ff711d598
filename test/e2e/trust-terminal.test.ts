// Owns: the proof that `haft trust` on a real terminal takes a yes and nothing else, and that no text of a policy paints the
// screen on which it is asked.
// Refuses: a faked terminal: `script` of util-linux makes a pseudo-terminal.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import '../../src/preset/trust/trust-for-tests.ts';
import { listTrust } from '../../src/preset/trust/trust-question.ts';

const HAFT = join(import.meta.dirname, '../../src/bin/haft.ts');
const folder = realpathSync.native(mkdtempSync(join(tmpdir(), 'haft-terminal-')));
after(() => rmSync(folder, { recursive: true }));

const ODD = ['\x1b[2J\x1b]0;t\x07', '\r', '\x9b2J', '\x7f', '\u202e', '\u2066', '\u200b', '\u2028'];
const odd = (name: string) => JSON.stringify(`${name}${ODD.join('x')}`);
const POLICY = `{"version": 1,
  "packs": [{"name": "hub", "mcp": {"command": ["node", ${odd('hub.mjs')}], "env": {"A": ${odd('env')}}}}],
  "shell_allow": [${JSON.stringify(`^npm ${ODD.slice(4).join('x')}`)}],
  "paths": {"rules": [{"path": ${odd('data')}, "read": "allow"}]}}
`;
writeFileSync(join(folder, 'haft.yaml'), POLICY);

/** Runs it on a terminal; what is typed once it asks. */
async function onTerminal(command: string, typed: string | undefined) {
  const line = `'${process.execPath}' --disable-warning=ExperimentalWarning '${HAFT}' ${command} --workspace '${folder}'`;
  const child = spawn('script', ['-qec', line, '/dev/null'], { stdio: ['pipe', 'pipe', 'inherit'] });
  let shown = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    const before = shown.includes('to do so: ');
    shown += text;
    if (before || !shown.includes('to do so: ')) return;
    if (typed === undefined) child.stdin.end();
    else child.stdin.write(typed);
  });
  const [status] = await once(child, 'close');
  return { status, shown };
}

const isTrusted = () => listTrust(folder).some((one) => one.folder === folder);

/** A terminal ends lines with CR LF; nothing else that acts on it, or hides or reorders text, may be there. */
function checkReadable(shown: string): void {
  const left = shown.replaceAll('\r\n', '\n').replaceAll('^C', '');
  assert.deepEqual(
    [...left.matchAll(/[^\n\P{C}]|[\p{Zl}\p{Zp}]/gu)].map(([one]) => escape(one)),
    [],
    left,
  );
}

describe('haft trust on a terminal', () => {
  for (const [what, typed] of Object.entries({
    'a no': 'no\n',
    'an empty line': '\n',
    'a yes with more': 'yes please\n',
    'Ctrl-D': '\x04',
    'the end of the input': undefined,
    'Ctrl-C': '\x03',
  }))
    it(`does not take ${what} for a yes`, { timeout: 60_000 }, async () => {
      const { status, shown } = await onTerminal('trust', typed);
      assert.notEqual(status, 0, shown);
      assert.match(shown, /Type yes to do so: /);
      assert.equal(isTrusted(), false);
      assert.doesNotMatch(shown, /Trusted:/);
    });

  it('shows what is granted, with nothing in it that acts on the screen', { timeout: 60_000 }, async () => {
    const { shown } = await onTerminal('trust', 'no\n');
    checkReadable(shown);
    for (const part of [
      'the pack "hub" (mcp): runs "node" "hub.mjs',
      'commands that match "^npm ',
      'to read "data',
    ])
      assert.ok(shown.includes(part), `${part} in\n${shown}`);
    assert.ok(shown.includes('\\u202e'), shown);
    for (const command of ['policy diff', 'call fs_list']) {
      const other = await onTerminal(command, undefined);
      assert.match(other.shown, /hub\.mjs/);
      checkReadable(other.shown);
    }
  });

  it('shows a domain that is none, with nothing in it that acts on the screen', {
    timeout: 60_000,
  }, async () => {
    const domain = JSON.stringify(`evil${ODD.slice(0, 6).join('x')}.example`);
    writeFileSync(join(folder, 'haft.yaml'), `version: 1\nnetwork: {allowed_domains: [${domain}]}\n`);
    const { status, shown } = await onTerminal('trust', 'yes\n');
    writeFileSync(join(folder, 'haft.yaml'), POLICY);
    assert.notEqual(status, 0);
    assert.match(shown, /evil/);
    checkReadable(shown);
    assert.equal(isTrusted(), false);
  });

  it('takes a yes', { timeout: 60_000 }, async () => {
    const { status, shown } = await onTerminal('trust', 'yes\n');
    assert.equal(status, 0, shown);
    assert.equal(isTrusted(), true);
  });
});
