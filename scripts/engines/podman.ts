// Owns: a private Podman below one folder, with its service on a socket: installed, started, filled with images, stopped.
// Refuses: the machine's own: own storage, own locks, own cgroup manager (no systemd is needed), no network, nothing pulled.
// usage: podman.ts install | start FOLDER | stop FOLDER     (as root, on Debian)
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { DockerEngine } from './docker.ts';
import { makeImages } from './docker-images.ts';
import { isRunning, mountsBelow, startDaemon, stopDaemons, until } from './private-daemon.ts';

/** Debian packages, each with a program that tells whether it is there. */
export const PODMAN_PACKAGES: Readonly<Record<string, string>> = {
  podman: '/usr/bin/podman',
  // Not crun, which podman would choose by itself: it refuses machines that have both versions of cgroups.
  runc: '/usr/sbin/runc',
  'busybox-static': '/bin/busybox',
};

export interface PodmanEngine extends DockerEngine {
  /** Podman itself, without its service: what a node of a cluster has. */
  readonly command: string;
}

/** Why no Podman can be started here, in words; undefined when one can. */
export function podmanUnavailable(): string | undefined {
  if (process.platform !== 'linux') return 'Podman needs Linux';
  if (process.getuid?.() !== 0) return 'starting a private Podman needs root';
  const missing = Object.keys(PODMAN_PACKAGES).filter((name) => !existsSync(PODMAN_PACKAGES[name]!));
  return missing.length === 0 ? undefined : `apt-get install ${missing.join(' ')}`;
}

/** Starts what does not run yet. Rejects with the reason when the service does not come up; then nothing of it is left. */
export async function startPodman(folder: string): Promise<PodmanEngine> {
  const why = podmanUnavailable();
  if (why !== undefined) throw new Error(why);
  const command = writeCommand(folder);
  const socket = join(folder, 'podman.sock');
  const podman = (args: readonly string[], input?: Uint8Array) => runPodman(command, args, input);
  try {
    startDaemon(folder, {
      name: 'podman',
      command: [command, 'system', 'service', '--time=0', `unix://${socket}`],
      env: {},
    });
    const up = await until(() => !isRunning(folder, 'podman') || existsSync(socket), 30_000);
    if (!up || !isRunning(folder, 'podman'))
      throw new Error(
        `podman did not come up:\n${readFileSync(join(folder, 'log/podman.out'), 'utf8').slice(-2000)}`,
      );
    const images = makeImages(folder, podman, digestOf);
    return {
      folder,
      socket,
      command,
      images,
      docker: (...args) => podman(args),
      stop: () => stopPodman(folder),
    };
  } catch (thrown) {
    await stopPodman(folder);
    throw thrown;
  }
}

/** Ends the service that this or another process started below the folder, and every container of it. */
export async function stopPodman(folder: string): Promise<void> {
  const command = join(folder, 'podman');
  if (existsSync(command)) spawnSync(command, ['rm', '--all', '--force', '--time=0']);
  await stopDaemons(folder, ['podman']);
  for (const mount of mountsBelow(folder)) spawnSync('umount', ['-l', mount]);
}

/** Podman gives an image a digest also when nobody has pushed it. */
function digestOf(podman: (args: readonly string[]) => string, tag: string): string {
  return podman(['image', 'inspect', tag, '--format', '{{index .RepoDigests 0}}']).trim();
}

/** A program that is Podman with everything of its own, whoever calls it, with whatever environment. */
function writeCommand(folder: string): string {
  mkdirSync(folder, { recursive: true });
  const at = (name: string) => JSON.stringify(join(folder, name));
  writeFileSync(
    join(folder, 'containers.conf'),
    `[engine]\ncgroup_manager="cgroupfs"\nevents_logger="file"\nruntime="runc"\nlock_type="file"\ntmp_dir=${at('tmp')}\n[containers]\nlog_driver="k8s-file"\ndefault_ulimits=${ownLimits()}\n`,
  );
  writeFileSync(
    join(folder, 'storage.conf'),
    `[storage]\ndriver="overlay"\ngraphroot=${at('data')}\nrunroot=${at('run')}\n`,
  );
  const command = join(folder, 'podman');
  const env = [
    'PATH=/usr/sbin:/usr/bin:/sbin:/bin',
    `HOME=${folder}`,
    `CONTAINERS_CONF=${join(folder, 'containers.conf')}`,
    `CONTAINERS_STORAGE_CONF=${join(folder, 'storage.conf')}`,
  ];
  writeFileSync(
    command,
    `#!/bin/sh\nexec /usr/bin/env -i ${env.join(' ')} ${PODMAN_PACKAGES.podman} "$@"\n`,
    { mode: 0o755 },
  );
  return command;
}

/**
 * By itself Podman asks for a million of each, which not every machine gives even to root. Soft and hard are the same:
 * the service of Podman 4.3 takes one for the other.
 */
function ownLimits(): string {
  const said = readFileSync('/proc/self/limits', 'utf8');
  const hard = (name: string) =>
    Math.min(Number(new RegExp(`^Max ${name} +\\S+ +(\\d+)`, 'm').exec(said)?.[1] ?? MOST), MOST);
  const limits = { nofile: hard('open files'), nproc: hard('processes') };
  return JSON.stringify(Object.entries(limits).map(([name, value]) => `${name}=${value}:${value}`));
}

const MOST = 32_768;

function runPodman(command: string, args: readonly string[], input?: Uint8Array): string {
  const options = { ...(input ? { input } : {}), maxBuffer: 64 * 1024 * 1024 };
  const { status, stdout, stderr } = spawnSync(command, args, options);
  if (status !== 0) throw new Error(`podman ${args[0]} failed: ${stderr}`);
  return stdout.toString();
}

async function main(): Promise<void> {
  const [verb, folder] = process.argv.slice(2);
  if (verb === 'install') {
    const options = { stdio: 'inherit', env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } } as const;
    const packages = ['install', '-y', '-qq', '--no-install-recommends', ...Object.keys(PODMAN_PACKAGES)];
    process.exitCode = spawnSync('apt-get', packages, options).status ?? 1;
  } else if (verb === 'start' && folder) {
    const engine = await startPodman(resolve(folder));
    console.log(`export DOCKER_HOST=unix://${engine.socket}`);
    console.log(`# podman: ${engine.command}`);
    for (const [name, image] of Object.entries(engine.images)) console.log(`# ${name}: ${image}`);
  } else if (verb === 'stop' && folder) {
    await stopPodman(resolve(folder));
  } else {
    console.error('usage: podman.ts install | start FOLDER | stop FOLDER');
    process.exitCode = 2;
  }
}

if (import.meta.main) await main();
