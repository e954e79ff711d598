// Owns: a private Slurm cluster of two nodes below one folder: installed, started, stopped, for tests and for trying things.
// Refuses: a cluster that is already on this machine: own configuration, own ports, own munge key and socket.
// usage: slurm.ts install | start FOLDER [--accounting] | stop FOLDER     (as root, on Debian)
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { ignoreErrors } from '../../src/base/ignore-errors.ts';
import { isRunning, startDaemon, stopDaemons, until } from './private-daemon.ts';
import { startAccounting } from './slurm-accounting.ts';
import { type ClusterShape, cgroupConf, slurmConf, slurmdbdConf } from './slurm-config.ts';

/** Debian packages, each with a program that tells whether it is there. */
export const SLURM_PACKAGES: Readonly<Record<string, string>> = {
  'slurm-wlm': '/usr/bin/sbatch',
  munge: '/usr/sbin/munged',
  slurmdbd: '/usr/sbin/slurmdbd',
  'mariadb-server-core': '/usr/sbin/mariadbd',
  'mariadb-client-core': '/usr/bin/mariadb',
};

export interface SlurmCluster {
  readonly folder: string;
  /** All that a client of this cluster needs in its environment. */
  readonly env: { readonly PATH: string; readonly SLURM_CONF: string };
  readonly nodes: readonly [string, string];
  /** Runs one of Slurm's commands to its end; throws with what it said when it fails. */
  command(program: string, ...args: string[]): string;
  stop(): Promise<void>;
}

export interface SlurmSettings {
  readonly accounting?: boolean;
  readonly settings?: ClusterShape['settings'];
}

if (import.meta.main) await main();

/** Why no cluster can be started here, in words; undefined when one can. */
export function slurmUnavailable(): string | undefined {
  if (process.platform !== 'linux') return 'Slurm needs Linux';
  if (process.getuid?.() !== 0) return 'starting a private Slurm cluster needs root';
  const missing = Object.keys(SLURM_PACKAGES).filter((name) => !existsSync(SLURM_PACKAGES[name]!));
  if (missing.length > 0) return `apt-get install ${missing.join(' ')}`;
  return undefined;
}

/** Starts what does not run yet. Rejects with the reason when the cluster does not come up; then nothing of it is left. */
export async function startSlurm(folder: string, options: SlurmSettings = {}): Promise<SlurmCluster> {
  const why = slurmUnavailable();
  if (why !== undefined) throw new Error(why);
  for (const part of ['etc', 'run', 'log', 'spool', 'state'])
    mkdirSync(join(folder, part), { recursive: true });
  const shape = await shapeOf(folder, options);
  const cluster = clusterOf(shape);
  try {
    await startAll(shape, cluster);
  } catch (thrown) {
    await cluster.stop();
    throw thrown;
  }
  return cluster;
}

/** Ends a cluster that this or another process started below the folder. */
export async function stopSlurm(folder: string): Promise<void> {
  const shape = readShape(folder);
  if (shape) await clusterOf(shape).stop();
}

async function startAll(shape: ClusterShape, cluster: SlurmCluster): Promise<void> {
  const { folder, nodes } = shape;
  const conf = cluster.env.SLURM_CONF;
  const writeSecret = (path: string, content: string | Uint8Array) =>
    writeFileSync(join(folder, path), content, { mode: 0o600 });
  if (!existsSync(join(folder, 'etc/munge.key'))) writeSecret('etc/munge.key', randomBytes(1024));
  // Whoever submits jobs reads these.
  writeFileSync(conf, slurmConf(shape));
  writeFileSync(join(folder, 'etc/cgroup.conf'), cgroupConf());
  const run = (name: string, ...command: [string, ...string[]]) =>
    startDaemon(folder, { name, command, env: cluster.env });
  const paths = { socket: 'run/munge.sock', 'key-file': 'etc/munge.key', 'seed-file': 'run/munge.seed' };
  const files = { ...paths, 'pid-file': 'run/munged.pid', 'log-file': 'log/munged.log' };
  const munge = Object.entries(files).map(([option, path]) => `--${option}=${join(folder, path)}`);
  run('munged', '/usr/sbin/munged', '--foreground', '--force', ...munge);
  await waitFor(shape, 'munged', () => existsSync(join(folder, 'run/munge.sock')));
  if (shape.accounting) {
    writeSecret('etc/slurmdbd.conf', slurmdbdConf(shape));
    await startAccounting(shape, cluster.env);
  }
  run('slurmctld', '/usr/sbin/slurmctld', '-D', '-f', conf);
  for (const node of nodes) run(`slurmd.${node}`, '/usr/sbin/slurmd', '-D', '-N', node, '-f', conf);
  const idle = () =>
    /^2$/m.test(
      orEmpty(() => cluster.command('sinfo', '-h', '-p', 'main', '-t', 'idle,mix,alloc', '-o', '%D')),
    );
  await waitFor(shape, 'slurmctld', idle);
}

async function waitFor({ folder }: ClusterShape, name: string, ready: () => boolean): Promise<void> {
  const up = await until(() => {
    if (!isRunning(folder, name)) throw new Error(`${name} ended at once: ${lastLines(folder, name)}`);
    return ready();
  }, 30_000);
  if (!up) throw new Error(`${name} is not ready after 30 s: ${lastLines(folder, name)}`);
}

function clusterOf({ folder, nodes }: ClusterShape): SlurmCluster {
  const env = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', SLURM_CONF: join(folder, 'etc/slurm.conf') };
  return {
    folder,
    env,
    nodes,
    command(program, ...args) {
      const { status, stdout, stderr } = spawnSync(program, args, { env, encoding: 'utf8' });
      if (status !== 0) throw new Error(`${program} ${args.join(' ')}: ${stderr || stdout}`);
      return stdout;
    },
    async stop() {
      await stopDaemons(folder, ['slurmctld', ...nodes.map((node) => `slurmd.${node}`), 'slurmdbd']);
      await endSteps(nodes);
    },
  };
}

/** What jobs left behind. Steps outlive their slurmd; they are known by the cgroups, which carry the node's name. */
async function endSteps(nodes: readonly string[]): Promise<void> {
  const inside = () =>
    readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .filter((pid) =>
        nodes.some((node) => orEmpty(() => readFileSync(`/proc/${pid}/cgroup`, 'utf8')).includes(node)),
      );
  await until(() => {
    const pids = inside();
    for (const pid of pids) ignoreErrors(() => process.kill(Number(pid), 'SIGKILL'));
    return pids.length === 0;
  }, 5_000);
  for (const controller of ['freezer', 'memory', 'cpuset', 'devices'])
    for (const node of nodes) removeCgroup(`/sys/fs/cgroup/${controller}/slurm_${node}`);
}

function removeCgroup(path: string): void {
  if (!existsSync(path)) return;
  for (const entry of readdirSync(path, { withFileTypes: true }))
    if (entry.isDirectory()) removeCgroup(join(path, entry.name));
  ignoreErrors(() => rmdirSync(path));
}

/** A folder keeps its ports and names, so that starting it again reaches what runs. */
async function shapeOf(folder: string, options: SlurmSettings): Promise<ClusterShape> {
  const { accounting = false, settings = {} } = options;
  const before = readShape(folder);
  const tag = randomBytes(3).toString('hex');
  const [slurmctld = 0, slurmd1 = 0, slurmd2 = 0, slurmdbd = 0, mariadb = 0] = await freePorts(5);
  const shape: ClusterShape = {
    folder,
    hostname: hostname().split('.')[0]!,
    nodes: before?.nodes ?? [`haft-${tag}-1`, `haft-${tag}-2`],
    ports: before?.ports ?? { slurmctld, slurmd1, slurmd2, slurmdbd, mariadb },
    accounting,
    settings,
  };
  writeFileSync(join(folder, 'shape.json'), JSON.stringify(shape));
  return shape;
}

function readShape(folder: string): ClusterShape | undefined {
  const text = orEmpty(() => readFileSync(join(folder, 'shape.json'), 'utf8'));
  return text === '' ? undefined : (JSON.parse(text) as ClusterShape);
}

async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer());
  const ports = await Promise.all(
    servers.map(
      (server) =>
        new Promise<number>((done) =>
          server.listen(0, '127.0.0.1', () => done((server.address() as { port: number }).port)),
        ),
    ),
  );
  await Promise.all(servers.map((server) => new Promise((done) => server.close(done))));
  return ports;
}

function lastLines(folder: string, name: string): string {
  const texts = [`${name}.log`, `${name}.out`].map((file) =>
    orEmpty(() => readFileSync(join(folder, 'log', file), 'utf8')),
  );
  return texts.join('\n').trim().split('\n').slice(-5).join(' / ');
}

function orEmpty(read: () => string): string {
  return ignoreErrors(read) ?? '';
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { accounting: { type: 'boolean', default: false } },
  });
  const [verb, folder] = positionals;
  if (verb === 'install') return install();
  if (folder === undefined || (verb !== 'start' && verb !== 'stop')) {
    console.error('usage: slurm.ts install | start FOLDER [--accounting] | stop FOLDER');
    process.exitCode = 64;
    return;
  }
  if (verb === 'stop') return stopSlurm(resolve(folder));
  const cluster = await startSlurm(resolve(folder), { accounting: values.accounting });
  console.log(`export SLURM_CONF=${cluster.env.SLURM_CONF}`);
}

function install(): void {
  const missing = Object.keys(SLURM_PACKAGES).filter((name) => !existsSync(SLURM_PACKAGES[name]!));
  if (missing.length === 0) return;
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  for (const words of [
    ['update', '-qq'],
    ['install', '-y', '-qq', '--no-install-recommends', ...missing],
  ]) {
    const { status } = spawnSync('apt-get', words, { env, stdio: 'inherit' });
    if (status !== 0) throw new Error(`apt-get ${words.join(' ')} failed`);
  }
}
