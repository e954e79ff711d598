import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { demandedFacts, ENTRY_CODES, parseObservation } from '../entry-script.ts';
import { type Evidence, verdict } from './conduct.ts';

const USER = '1000:1000';
const sound = parseObservation(`haft-observed ${demandedFacts(USER)} writable=/work/out,/tmp`);

function evidence({
  state = {},
  ...others
}: Partial<Omit<Evidence, 'state'>> & { state?: Partial<Evidence['state']> }): Evidence {
  return {
    state: {
      exitCode: 0,
      oomKilled: false,
      startedMs: 1000,
      finishedMs: 2000,
      imageId: 'sha256:x',
      ...state,
    },
    resources: { cpus: 1, memoryBytes: 100, wallMs: 5000, outputBytes: 10 },
    user: USER,
    observation: sound,
    killedFor: undefined,
    diskFull: false,
    outputs: undefined,
    program: 'sort',
    stderr: new Uint8Array(),
    ...others,
  };
}

const code = (exitCode: number) => ({ state: { exitCode } });
const time = { cause: 'limit.time', message: 'too long' } as const;
const tooMuch = { cause: 'limit.output_bytes', message: 'too much' } as const;
const missing = { cause: 'tool.outputs', message: 'missing' } as const;

const ENDS: Readonly<
  Record<
    string,
    readonly [Parameters<typeof evidence>[0], cause: string | undefined, exitCode: number | null]
  >
> = {
  'a code of 0 with all outputs': [{}, undefined, 0],
  'another code': [code(3), 'tool.exit', 3],
  'a code that the entry keeps for itself': [code(ENTRY_CODES.ownCode), 'tool.exit', 248],
  'a signal': [code(139), 'tool.signal', 139],
  'SIGKILL from inside': [code(ENTRY_CODES.killedInside), 'tool.signal', 137],
  'SIGKILL from outside': [code(137), 'infrastructure.killed', 137],
  'SIGKILL by us': [{ ...code(137), killedFor: time }, 'limit.time', 137],
  'SIGKILL from outside before anybody could look': [
    { ...code(137), observation: undefined },
    'infrastructure.killed',
    137,
  ],
  'a program that is not there': [code(ENTRY_CODES.notStarted), 'tool.not_started', null],
  'an attempt that had begun before': [code(ENTRY_CODES.beganBefore), 'lost', null],
  'out/ that is somebody else’s': [code(ENTRY_CODES.cannotClaim), 'infrastructure.engine', null],
  'an entry that refused': [code(ENTRY_CODES.containment), 'infrastructure.containment', null],
  'memory that the engine noticed, with a code of 0': [{ state: { oomKilled: true } }, 'limit.memory', 0],
  'memory that the entry noticed': [code(ENTRY_CODES.memory), 'limit.memory', null],
  'too long a time, with a code of 0': [{ state: { finishedMs: 6001 } }, 'limit.time', 0],
  'exactly as long a time as it may take': [{ state: { finishedMs: 6000 } }, undefined, 0],
  'too much output, with a code of 0': [{ outputs: tooMuch }, 'limit.output_bytes', 0],
  'too much output, with another code': [{ ...code(1), outputs: tooMuch }, 'limit.output_bytes', 1],
  'a full disk, with a code of 0': [{ diskFull: true }, 'infrastructure.disk_full', 0],
  'a full disk, with another code': [{ ...code(1), diskFull: true }, 'infrastructure.disk_full', 1],
  'an output that is missing': [{ outputs: missing }, 'tool.outputs', 0],
  'another code and an output that is missing': [{ ...code(2), outputs: missing }, 'tool.exit', 2],
  'nothing observed': [{ observation: undefined }, 'infrastructure.containment', 0],
  'another user than asked for': [{ user: '1:1' }, 'infrastructure.containment', 0],
};

describe('verdict', () => {
  for (const [what, [given, cause, exitCode]] of Object.entries(ENDS)) {
    it(`says ${cause ?? 'success'} of ${what}`, () => {
      const end = verdict(evidence(given));
      assert.deepEqual(
        [end.cause, end.exitCode, end.status === 'succeeded'],
        [cause, exitCode, cause === undefined],
      );
    });
  }
});

describe('parseObservation', () => {
  it('takes the line of an entry apart, and nothing else', () => {
    assert.deepEqual(sound?.writableMounts, ['/tmp', '/work/out']);
    assert.deepEqual([sound?.user, sound?.seccomp, sound?.interfaces], [USER, 2, ['lo']]);
    for (const line of ['', 'hello', ' haft-observed caps=', 'haft-observedcaps='])
      assert.equal(parseObservation(line), undefined);
  });
});
