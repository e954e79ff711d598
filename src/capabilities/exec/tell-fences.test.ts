// Owns: what is told where a fence stood in a program's way.
// Refuses: to start one; what programs print is given.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Warning } from '../../contract/envelope.ts';
import type { Fence } from '../../contract/policy.ts';
import { tellFences } from './tell-fences.ts';

const FENCES: readonly Fence[] = [
  {
    glob: '**/.npmrc',
    read: false,
    write: true,
    except: ['**/node_modules'],
    where: 'rule 1',
    admit: 'LINE\n',
  },
  { glob: '**/.env', read: true, write: true, where: 'rule 2' },
  { glob: 'docs', read: false, write: true },
];

function told(cmd: string, stderr: string, cwd = '.'): string[] {
  const warnings: Warning[] = [];
  const policy = { fences: FENCES, programs: [], packs: [], sandboxOptional: false };
  tellFences({ root: '/ws', policy, warn: (one) => void warnings.push(one) }, cmd, cwd, Buffer.from(stderr));
  return warnings.map(({ message }) => message);
}

describe('tellFences', () => {
  const LINE = '. To let programs at it, haft.yaml needs:\nLINE';
  const NAMED: readonly (readonly [what: string, stderr: string, cwd?: string])[] = [
    ['touch', "touch: cannot touch 'app/.npmrc': Read-only file system"],
    ['bash', 'bash: line 1: app/.npmrc: Read-only file system'],
    ['Node.js', "Error: EROFS: read-only file system, open '/ws/app/.npmrc'"],
    ['Python', "OSError: [Errno 30] Read-only file system: 'app/.npmrc'"],
    ['rm', "rm: cannot remove 'app/.npmrc': Device or resource busy"],
    ['a program in another folder', "rm: cannot remove './.npmrc': Device or resource busy", 'app'],
  ];
  for (const [what, stderr, cwd] of NAMED) {
    it(`says what closes the path that ${what} complains of, and what opens it`, () => {
      assert.deepEqual(told('x', stderr, cwd), [`app/.npmrc is read-only to programs by rule 1${LINE}`]);
    });
  }

  it('looks at the command where the complaint names nothing', () => {
    assert.deepEqual(told('npm config set -L project x=1 --prefix docs/.npmrc', 'npm error code EROFS'), [
      `docs/.npmrc is read-only to programs by rule 1${LINE}`,
    ]);
  });

  it('says of what is hidden that it is', () => {
    assert.deepEqual(told('cat .env', 'cat: .env: Permission denied'), [
      '.env is hidden from programs by rule 2',
    ]);
  });

  it('is silent about failures of another kind, other paths, and what a rule does not hold for', () => {
    assert.deepEqual(told('cat .npmrc', 'cat: .npmrc: no such option'), []);
    assert.deepEqual(told('touch /etc/x', "touch: cannot touch '/etc/x': Read-only file system"), []);
    assert.deepEqual(told('x', "EROFS: open '/ws/node_modules/a/.npmrc'"), []);
  });
});
