// Owns: a private Docker engine below one folder: installed, started, filled with images, stopped; for tests and for trying.
// Refuses: the machine's own engine: own data, own socket, own containerd, no bridge, no firewall rules, nothing pulled.
// usage: docker.ts install | start FOLDER | stop FOLDER     (as root, on Debian)
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join, resolve } from 'node:path';
import { ignoreErrors } from '../../src/base/ignore-errors.ts';
import { processIdentity } from '../../src/stores/process-identity.ts';
import { makeImages, type TestImages } from './docker-images.ts';
import { isRunning, mountsBelow, startDaemon, stopDaemons, until } from './private-daemon.ts';

/** Debian packages, each with a program that tells whether it is there. */
export const DOCKER_PACKAGES: Readonly<Record<string, string>> = {
  'docker.io': '/usr/sbin/dockerd',
  'docker-registry': '/usr/bin/docker-registry',
  'busybox-static': '/bin/busybox',
};

export interface DockerEngine {
  readonly folder: string;
  readonly socket: string;
  readonly images: TestImages;
  /** Runs docker's own command on this engine; throws with what it said when it fails. */
  docker(...args: string[]): string;
  stop(): Promise<void>;
}

/** Why no engine can be started here, in words; undefined when one can. */
export function dockerUnavailable(): string | undefined {
  if (process.platform !== 'linux') return 'a private Docker engine needs Linux';
  if (process.getuid?.() !== 0) return 'starting a private Docker engine needs root';
  const missing = Object.keys(DOCKER_PACKAGES).filter((name) => !existsSync(DOCKER_PACKAGES[name]!));
  return missing.length === 0 ? undefined : `apt-get install ${missing.join(' ')}`;
}

/** Starts what does not run yet. Rejects with the reason when the engine does not come up; then nothing of it is left. */
export async function startDocker(folder: string): Promise<DockerEngine> {
  const why = dockerUnavailable();
  if (why !== undefined) throw new Error(why);
  mkdirSync(folder, { recursive: true });
  try {
    await startEngine(folder);
    const registry = await startRegistry(folder);
    const docker = (args: readonly string[], input?: Uint8Array) => runDocker(folder, args, input);
    const images = makeImages(folder, docker, (_, tag) => push(docker, tag, `${registry}/${tag}`));
    return {
      folder,
      socket: socketOf(folder),
      images,
      docker: (...args) => runDocker(folder, args),
      stop: () => stopDocker(folder),
    };
  } catch (thrown) {
    await stopDocker(folder);
    throw thrown;
  }
}

/** Ends the engine that this or another process started below the folder, with every container of it. */
export async function stopDocker(folder: string): Promise<void> {
  if (isRunning(folder, 'dockerd')) {
    const containers =
      ignoreErrors(() => runDocker(folder, ['ps', '-aq']))
        ?.split('\n')
        .filter(Boolean) ?? [];
    if (containers.length > 0) ignoreErrors(() => runDocker(folder, ['rm', '-f', ...containers]));
  }
  await stopDaemons(folder, ['dockerd', 'containerd', 'registry']);
  for (const mount of mountsBelow(folder)) spawnSync('umount', ['-l', mount]);
}

const socketOf = (folder: string) => join(folder, 'docker.sock');
const ENV = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' };

async function startEngine(folder: string): Promise<void> {
  const command = [
    DOCKER_PACKAGES['docker.io']!,
    `--data-root=${join(folder, 'data')}`,
    `--exec-root=${join(folder, 'exec')}`,
    `--pidfile=${join(folder, 'dockerd.pid')}`,
    `--host=unix://${socketOf(folder)}`,
    '--bridge=none',
    '--iptables=false',
    '--ip6tables=false',
    '--ip-forward=false',
    '--log-level=warn',
  ] as const;
  startDaemon(folder, { name: 'dockerd', command, env: ENV });
  const up = await until(
    () => !isRunning(folder, 'dockerd') || ignoreErrors(() => runDocker(folder, ['version'])) !== undefined,
    30_000,
  );
  if (!up || !isRunning(folder, 'dockerd'))
    throw new Error(
      `dockerd did not come up:\n${readFileSync(join(folder, 'log/dockerd.out'), 'utf8').slice(-2000)}`,
    );
  // The engine ends it; it is recorded for the case that the engine is killed.
  const containerd = Number(
    ignoreErrors(() => readFileSync(join(folder, 'exec/containerd/containerd.pid'), 'utf8')),
  );
  if (containerd > 0) writeFileSync(join(folder, 'pids/containerd'), processIdentity(containerd));
}

/** Answers `127.0.0.1:PORT`. The port is chosen once: it becomes a part of the images' names. */
async function startRegistry(folder: string): Promise<string> {
  const config = join(folder, 'registry.json');
  if (!existsSync(config)) {
    const rootdirectory = join(folder, 'registry');
    const settings = {
      version: 0.1,
      log: { level: 'warn' },
      storage: { filesystem: { rootdirectory } },
      http: { addr: `127.0.0.1:${await freePort()}` },
    };
    writeFileSync(config, JSON.stringify(settings));
  }
  const { addr } = JSON.parse(readFileSync(config, 'utf8')).http;
  const command = [DOCKER_PACKAGES['docker-registry']!, 'serve', config] as const;
  startDaemon(folder, { name: 'registry', command, env: ENV });
  const answers = () =>
    fetch(`http://${addr}/v2/`).then(
      ({ ok }) => ok,
      () => false,
    );
  if (!(await until(answers, 15_000))) throw new Error('docker-registry did not come up');
  return addr;
}

/** Answers the digest that the registry gives it. */
function push(docker: (args: readonly string[]) => string, name: string, tag: string): string {
  docker(['tag', name, tag]);
  docker(['push', '-q', tag]);
  return docker(['image', 'inspect', tag, '--format', '{{index .RepoDigests 0}}']).trim();
}

function runDocker(folder: string, args: readonly string[], input?: Uint8Array): string {
  const { status, stdout, stderr } = spawnSync(
    '/usr/bin/docker',
    ['-H', `unix://${socketOf(folder)}`, ...args],
    {
      env: { ...ENV, HOME: folder },
      ...(input ? { input } : {}),
      maxBuffer: 64 * 1024 * 1024,
    },
  );
  if (status !== 0) throw new Error(`docker ${args[0]} failed: ${stderr}`);
  return stdout.toString();
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  await new Promise((done) => server.close(done));
  return port;
}

async function main(): Promise<void> {
  const [command, folder] = process.argv.slice(2);
  if (command === 'install') {
    const options = { stdio: 'inherit', env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } } as const;
    const packages = ['install', '-y', '-qq', '--no-install-recommends', ...Object.keys(DOCKER_PACKAGES)];
    process.exitCode = spawnSync('apt-get', packages, options).status ?? 1;
  } else if (command === 'start' && folder) {
    const engine = await startDocker(resolve(folder));
    console.log(`export DOCKER_HOST=unix://${engine.socket}`);
    for (const [name, image] of Object.entries(engine.images)) console.log(`# ${name}: ${image}`);
  } else if (command === 'stop' && folder) {
    await stopDocker(resolve(folder));
  } else {
    console.error('usage: docker.ts install | start FOLDER | stop FOLDER');
    process.exitCode = 2;
  }
}

if (import.meta.main) await main();
