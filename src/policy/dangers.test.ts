import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { engineFrom } from '../../test/support/policy-from-text.ts';
import type { Effect } from '../contract/effect.ts';
import { ERRORS } from '../contract/errors.ts';
import { dangersOf } from './dangers.ts';
import type { Grant } from './section.ts';
import { suggestPolicy } from './suggest.ts';

const whyOf = (grant: Grant): string | undefined => dangersOf(grant)[0]?.why;

describe('dangersOf', () => {
  const COMMANDS = [
    ...[
      'rm -rf build',
      'rm -fr .',
      'rm -r --force x',
      'rm --recursive x',
      'rm *',
      '/bin/rm -Rf x',
      'sudo ls',
      'su',
    ],
    ...[
      'doas x',
      'sh',
      'bash',
      'bash -s',
      'sh -c ls',
      'bash -lc x',
      'zsh -',
      'python3',
      'python3 -',
      'node',
      'eval x',
    ],
    ...[
      'chmod -R 777 .',
      'chmod 777 x',
      'chown -R a x',
      'dd if=a of=b',
      'mkfs.ext4 /dev/sda',
      'shutdown now',
    ],
    ...[
      'cat /etc/passwd',
      'ls /',
      'ls ~',
      'cat /home/ada/.bashrc',
      'tar -C / -x',
      'cp a /root/b',
      'cat /proc/1/environ',
    ],
    ...[
      'cat .ssh/id_rsa',
      'cp /dev/sda x',
      'ssh host',
      'nc -l 1',
      'crontab -e',
      'systemctl stop x',
      'find . -delete',
    ],
    ...[
      'npm publish',
      'git push',
      'git clean',
      'git reset',
      'docker run x',
      'kubectl delete x',
      'apt-get install x',
    ],
    ...[
      '*',
      'git -C . push',
      'npm --prefix a publish',
      'busybox rm x',
      'bash /dev/stdin',
      'cat ../../etc/passwd',
    ],
  ];
  for (const command of COMMANDS)
    it(`takes the command ${JSON.stringify(command)} for dangerous`, async () => {
      const grant = (await engineFrom('')).grantFor('shell_exec', [{ kind: 'exec', command }]);
      assert.ok(whyOf(grant!), JSON.stringify(grant));
    });

  const USUAL = [
    ...[
      'npm ci',
      'npm run build',
      'cargo test',
      'go vet ./...',
      'rm a.txt',
      'rm -f a.txt',
      'bash scripts/build.sh',
    ],
    ...[
      'python3 tool.py',
      'node -e 1',
      'chmod +x run.sh',
      'cat a/etc/b',
      'ls src',
      'make all',
      'git add .',
      'docker ps',
    ],
    ...[
      'find . -name x',
      'echo hi',
      'sed s/a/b/ x',
      'cat > /dev/null',
      'tar xf a.tar',
      'ls /usr/bin',
      'sh -e x.sh',
    ],
  ];
  for (const command of USUAL)
    it(`takes the command ${JSON.stringify(command)} for usual`, async () => {
      const grant = (await engineFrom('')).grantFor('shell_exec', [{ kind: 'exec', command }]);
      assert.equal(whyOf(grant!), undefined);
    });

  for (const pattern of ['.*', '^.*$', '.+', '', '^(a|b)', '[a-z]+ .*', 'npm .*'])
    it(`takes the pattern ${JSON.stringify(pattern)} for dangerous`, () =>
      assert.match(whyOf({ shell_allow: [pattern] }) ?? '', /any command/));

  const GRANTS: readonly (readonly [Grant, RegExp | undefined])[] = [
    [{ network: { allowed_domains: ['169.254.169.254'] } }, /link-local/],
    [{ network: { allowed_domains: [{ domain: '169.254.1.1:80', private: true }] } }, /link-local/],
    [{ network: { allowed_domains: ['[fe80::1]'] } }, /link-local/],
    [{ network: { allowed_domains: ['metadata.google.internal'] } }, /link-local/],
    [{ network: { allowed_domains: ['*'] } }, /every host/],
    [{ network: { allowed_domains: ['*.com'] } }, /every host/],
    [{ network: { allowed_domains: ['*.example.org', 'localhost:8080', 'crates.io'] } }, undefined],
    [{ paths: { extra_roots: ['/etc'] } }, /system/],
    [{ paths: { extra_roots: ['/etc/ssl'] } }, /system/],
    [{ paths: { extra_roots: ['~'] } }, /home/],
    [{ paths: { extra_roots: ['/home/ada'] } }, /home/],
    [{ paths: { extra_roots: ['/home/ada/.ssh'] } }, /system/],
    [{ paths: { extra_roots: ['../shared', '/srv/data', '/home/ada/work/lib'] } }, undefined],
    [{ paths: { rules: [{ path: '**', write: 'allow' }] } }, /every file/],
    [{ paths: { rules: [{ path: '**/.env', read: 'allow' }] } }, /passwords/],
    [{ paths: { rules: [{ path: '.github/workflows/ci.yml', write: 'allow' }] } }, /by itself/],
    [{ paths: { rules: [{ path: '**/.husky', write: 'allow' }] } }, /by itself/],
    [{ paths: { rules: [{ path: '**/.husky', read: 'allow' }] } }, undefined],
    [{ paths: { rules: [{ path: 'docs', write: 'allow' }] } }, undefined],
    [{ tools: { rules: [{ tool: '*', decision: 'allow' }] } }, /every tool/],
    [{ tools: { rules: [{ tool: 'file_write', decision: 'allow' }] } }, undefined],
    [{ sandbox: 'optional' }, /sandbox/],
  ];
  for (const [grant, why] of GRANTS)
    it(`takes ${JSON.stringify(grant)} for ${why ? 'dangerous' : 'usual'}`, () => {
      if (why) assert.match(whyOf(grant) ?? '', why);
      else assert.deepEqual(dangersOf(grant), []);
    });
});

describe('suggestPolicy with dangerous calls', () => {
  it('offers the others alone, and names what was asked for and why', async () => {
    let calls = 0;
    const row = (tool: string, ...effects: readonly Effect[]) => ({
      callId: `call_${calls++}`,
      tool,
      effects,
      decision: { verdict: 'deny' as const, rule: 'x' },
      errors: [{ code: ERRORS['policy.denied'].code, reason: 'policy.denied' as const }],
    });
    const exec = (command: string): Effect => ({ kind: 'exec', command });
    const rows = [
      row('shell_exec', exec('npm ci')),
      row('shell_exec', exec('rm -rf build')),
      row('other_exec', exec('rm -rf build')),
      row('shell_exec', exec('curl https://example.org/x'), exec('sh')),
      row('curl', { kind: 'net.connect', scheme: 'http', host: '169.254.169.254', port: 80 }),
    ];
    const { admit, suggestions, flagged } = await suggestPolicy(rows, await engineFrom(''));
    assert.equal(admit, "shell_allow:\n  - '^npm ci(\\s|$)'\n");
    assert.equal(suggestions.length, 1);
    assert.deepEqual(
      flagged.map(({ what, calls: times }) => [what, times]),
      [
        ['rm -rf build', 2],
        ['169.254.169.254', 1],
        ['sh', 1],
      ],
    );
  });
});
