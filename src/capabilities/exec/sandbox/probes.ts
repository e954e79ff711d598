// Owns: the guarantees of the sandbox as a list, each with a program that tries to break it on this machine, in a throw-away workspace
// with a sandbox on it, as each user that the machine offers.
// Refuses: to report what was configured (a guarantee holds when the attempt was made and failed), and to leave anything behind.
import {
  chownSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type {
  SandboxAvailability,
  SandboxHandle,
  SandboxObservation,
  SandboxOptions,
  SandboxProbeReport,
  SandboxResult,
  SandboxSpec,
} from '../../../contract/sandbox.ts';
import { makeFolders } from '../fences/placeholders.ts';
import { createSandbox } from './create-sandbox.ts';

export interface Probe {
  readonly name: string;
  /** What to do when it does not hold. */
  readonly fix: string;
  /** Undefined when it holds, with what was seen otherwise; or a sentence that says what was seen when it holds. */
  attempt(scene: ProbeScene): Promise<{ readonly ok: boolean; readonly evidence: string }>;
}

export interface ProbeScene extends Fixture {
  readonly available: SandboxAvailability & { ok: true };
}

const MIB = 2 ** 20;
const REINSTALL = 'Update bubblewrap and the kernel, and report this: programs may not be contained here.';
const CGROUPS =
  'Let this process make cgroups (run it as root, or in a systemd user session with Delegate=yes).';

export const PROBES: readonly Probe[] = [
  {
    name: 'no capability and no new privileges',
    fix: REINSTALL,
    async attempt({ available, sh }) {
      const { capabilities, noNewPrivileges } = available.observed;
      const su = await sh('echo | su root -c true 2>&1');
      const none = Object.values(capabilities).every((bits) => /^0+$/.test(bits));
      return {
        ok: none && noNewPrivileges && su.code !== 0,
        evidence: `CapEff ${capabilities.CapEff}, no_new_privs ${noNewPrivileges}, su ended with ${su.code}`,
      };
    },
  },
  {
    name: 'not root outside',
    fix: 'Give the workspace to an ordinary user, or install perl and keep it on ext4, xfs or btrfs, so that id-mapped mounts work.',
    attempt: async ({ available: { observed } }) => ({
      ok: observed.uid !== 0,
      evidence: `runs as user ${observed.uid} (${observed.identity})`,
    }),
  },
  {
    name: 'no mounts and no namespaces',
    fix: REINSTALL,
    attempt: ({ sh }) =>
      allFail(sh, [
        'mount -t tmpfs x /tmp',
        'mount -o remount,rw,bind /usr',
        'unshare -U true',
        'unshare -m true',
        'unshare -n true',
      ]),
  },
  {
    name: 'no set-user-ID files and no devices',
    fix: REINSTALL,
    attempt: ({ sh }) =>
      allFail(sh, ['cp /bin/true t && chmod u+s t', 'mknod /tmp/d b 8 0', 'mknod d c 1 1']),
  },
  {
    name: 'the machine is not seen',
    fix: REINSTALL,
    attempt: ({ sh }) =>
      allFail(sh, [
        'ls /root/.*',
        'cat /etc/shadow',
        'ls /run/*',
        'ls /sys/kernel',
        `kill -0 ${process.pid}`,
      ]),
  },
  {
    name: 'the system is read-only',
    fix: REINSTALL,
    attempt: ({ sh }) =>
      allFail(sh, ['touch /usr/x', 'touch /etc/x', 'touch /x', 'echo core > /proc/sys/kernel/core_pattern']),
  },
  {
    name: 'policy, state and git are protected',
    fix: REINSTALL,
    async attempt({ sh, workspace }) {
      const tried = await allFail(sh, [
        'echo x > haft.yaml',
        'mv haft.yaml other',
        '[ -n "$(ls -A .haft)" ]',
        'touch .haft/x',
        'mv .haft other',
        'touch .git/hooks/x',
        'mv .git other',
      ]);
      const whole = readFileSync(join(workspace, 'haft.yaml'), 'utf8') === FILES['haft.yaml'];
      return {
        ok: tried.ok && whole && !existsSync(join(workspace, '.git/hooks/x')),
        evidence: tried.evidence,
      };
    },
  },
  {
    name: 'no network and no names',
    fix: REINSTALL,
    async attempt({ available: { observed }, sh }) {
      const tried = await allFail(sh, [
        'getent hosts example.org',
        `perl -e 'socket(S, 40, 1, 0) or exit 1'`,
      ]);
      return {
        ok: tried.ok && observed.interfaces.join() === 'lo',
        evidence: `interfaces: ${observed.interfaces.join(', ')}; ${tried.evidence}`,
      };
    },
  },
  {
    name: 'a clean environment',
    fix: REINSTALL,
    async attempt({ sandbox }) {
      const { stdout } = await sandbox.run({ argv: ['env'], env: { PATH: '/usr/bin:/bin' } });
      const names = Buffer.from(stdout)
        .toString()
        .split('\n')
        .flatMap((line) => line.split('=')[0] || []);
      return { ok: names.sort().join() === 'PATH,PWD', evidence: `variables: ${names.join(', ')}` };
    },
  },
  {
    name: "files belong to the workspace's owner",
    fix: 'Run Haft as the owner of the workspace.',
    async attempt({ sh, workspace }) {
      const { code } = await sh('echo x > made');
      const made = statSync(join(workspace, 'made'), { throwIfNoEntry: false });
      return {
        ok: code === 0 && made?.uid === statSync(workspace).uid,
        evidence: `the file belongs to user ${made?.uid}`,
      };
    },
  },
  {
    name: 'memory is bounded',
    fix: CGROUPS,
    async attempt({ sh }) {
      const result = await sh('head -c 400000000 /dev/zero | tail -c 300000000 | wc -c', {
        limits: { memoryBytes: 64 * MIB },
      });
      return {
        ok: !result.out.startsWith('300000000') && !result.timedOut,
        evidence: `limit hit: ${result.limitHit ?? 'refused by the kernel'}`,
      };
    },
  },
  {
    name: 'processes are bounded',
    fix: CGROUPS,
    async attempt({ sh }) {
      const result = await sh('for i in $(seq 60); do sleep 20 & done; echo all', {
        limits: { processes: 20 },
      });
      return { ok: result.out === '', evidence: `limit hit: ${result.limitHit ?? 'refused by the kernel'}` };
    },
  },
  {
    name: 'bytes written are bounded',
    fix: 'Use a kernel with task I/O accounting (CONFIG_TASK_IO_ACCOUNTING).',
    async attempt({ sh }) {
      const line = 'for i in $(seq 400); do head -c 1048576 /dev/zero > big$i; done; sleep 20';
      const result = await sh(line, { limits: { bytesWritten: 8 * MIB } });
      return { ok: result.limitHit === 'bytes_written', evidence: `limit hit: ${result.limitHit ?? 'none'}` };
    },
  },
  {
    name: 'nothing outlives a program',
    fix: REINSTALL,
    async attempt({ sh }) {
      const mark = `${9000 + (process.pid % 1000)}.${Date.now() % 100_000}`;
      await sh(`trap '' TERM; for i in 1 2 3 4 5; do setsid sleep ${mark} & done; sleep ${mark}`, {
        timeoutMs: 200,
        graceMs: 20,
      });
      const left = readdirSync('/proc').filter((pid) => commandLine(pid).includes(mark)).length;
      return { ok: left === 0, evidence: `${left} of 6 processes are left` };
    },
  },
];

const FILES = { 'haft.yaml': 'version: 1\n', '.git/hooks/': '', '.git/config': '' };

/** Tries every guarantee in a throw-away workspace. Where there is no sandbox that is the one thing to report: nothing holds. */
export function runProbes(): Promise<readonly SandboxProbeReport[]> {
  return withSandbox({ files: FILES }, async (fixture) => {
    const name = 'a sandbox can be had';
    const available = await fixture.sandbox.available();
    if (!available.ok) return [{ name, ok: false, evidence: available.reason, fix: available.hint }];
    const sh: Fixture['sh'] = (line, spec) => fixture.sh(line, { timeoutMs: ATTEMPT_MS, ...spec });
    const evidence = `limits by ${available.observed.limitsBy}`;
    const reports: SandboxProbeReport[] = [{ name, ok: true, evidence, fix: '' }];
    for (const { name, fix, attempt } of PROBES)
      reports.push({ name, fix, ...(await attempt({ ...fixture, sh, available })) });
    return reports;
  });
}

/** No attempt takes this long, and none is waited for without end. */
const ATTEMPT_MS = 20_000;

/** Holds when no line ends with 0. */
async function allFail(
  sh: Fixture['sh'],
  lines: readonly string[],
): Promise<{ ok: boolean; evidence: string }> {
  const results = await Promise.all(lines.map(async (line) => ({ line, code: (await sh(line)).code })));
  const broken = results.filter(({ code }) => code === 0 || code === null).map(({ line }) => line);
  return {
    ok: broken.length === 0,
    evidence: broken.length === 0 ? `${lines.length} attempts failed` : `did not fail: ${broken.join('; ')}`,
  };
}

function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}

type Identity = SandboxObservation['identity'];

/** Root can be all three; anybody else is themselves. */
export const identities = (): readonly Identity[] =>
  process.getuid?.() === 0 ? ['mapped', 'owner', 'bare_root'] : ['self'];

export interface Fixture {
  readonly workspace: string;
  readonly sandbox: SandboxHandle;
  /** Runs a line of shell with the usual environment. */
  sh(line: string, spec?: Partial<SandboxSpec>): Promise<ShellResult>;
}

export interface ShellResult extends SandboxResult {
  readonly out: string;
  readonly err: string;
}

interface FixtureOptions extends Partial<SandboxOptions> {
  readonly identity?: Identity;
  /** Files to begin with; a name with a slash at its end is a folder. */
  readonly files?: Readonly<Record<string, string>>;
}

/** A name that shells, mount tables and scripts like to get wrong. */
const AWKWARD = `haft wörk "space' $x; -`;

/** An ordinary user that may own a workspace of root's. */
const ORDINARY = 65534;

export async function withSandbox<T>(
  options: FixtureOptions,
  use: (fixture: Fixture) => Promise<T>,
): Promise<T> {
  const { identity, files = {}, ...rest } = options;
  const workspace = realpathSync.native(mkdtempSync(join(tmpdir(), AWKWARD)));
  const own = (path: string) => identity === 'owner' && chownSync(path, ORDINARY, ORDINARY);
  own(workspace);
  for (const [name, content] of Object.entries(files)) {
    const path = join(workspace, name);
    const folder = name.endsWith('/') ? path : dirname(path);
    for (const made of makeFolders(folder)) own(made);
    if (!name.endsWith('/')) {
      writeFileSync(path, content);
      own(path);
    }
  }
  const sandbox = createSandbox({ ...rest, workspace }, identity);
  const sh: Fixture['sh'] = async (line, spec) => {
    const result = await sandbox.run({ argv: ['sh', '-c', line], env: sandbox.baseEnv, ...spec });
    return { ...result, out: textOf(result.stdout), err: textOf(result.stderr) };
  };
  try {
    return await use({ workspace, sandbox, sh });
  } finally {
    await sandbox.close();
    rmSync(workspace, { recursive: true, force: true });
  }
}

export const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('utf8');
