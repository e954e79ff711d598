// Owns: images made from programs of this machine, equal bytes from equal programs, on a machine that can pull nothing.
// Refuses: the outside: what gives an image its repository digest is a registry on 127.0.0.1.
// usage: docker-images.ts load [FOLDER]     (into the engine of DOCKER_HOST; FOLDER gets their file systems, for Slurm)
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { IMAGE_ROOTS } from './image-roots.ts';

export interface TestImages {
  /** busybox with all of its programs, by its repository's digest. Also known as `haft/busybox:1`. */
  readonly busybox: string;
  /** sh, awk, sort and the like of this machine, in the same way. Also known as `haft/coreutils:1`. */
  readonly coreutils: string;
  /** busybox with an ENV, a PATH, a WORKDIR, a USER and an ENTRYPOINT of its own, pinned like the first. Also `haft/configured:1`. */
  readonly configured: string;
  /** busybox and one file more, known by a tag only: nobody has pushed it anywhere. */
  readonly local: string;
}

type Docker = (args: readonly string[], input?: Uint8Array) => string;
type Name = keyof typeof IMAGE_ROOTS;

/** As image specifications have it. */
interface ImageConfig {
  readonly Env: readonly string[];
  readonly [field: string]: unknown;
}

const USUAL: ImageConfig = { Env: ['PATH=/bin'], Cmd: ['sh'] };

/** Each of its variables is of another kind: its own, one that every run has, one that engines add, one with blanks, one without a value. */
export const CONFIGURED: ImageConfig = {
  Env: [
    'PATH=/opt/configured/bin:/usr/bin:/bin',
    'OWN=of the image = "quoted" $HOME',
    'LANG=de_DE.UTF-8',
    'TERM=dumb',
    'EMPTY=',
  ],
  WorkingDir: '/opt/configured',
  User: '4321:1234',
  Entrypoint: ['/bin/false'],
  Cmd: ['nothing'],
};

const NAMES = Object.keys(IMAGE_ROOTS) as Name[];
const LOCAL = 'haft/local:1';
const tagOf = (name: Name | 'configured') => `haft/${name}:1`;

/** Where the file system of an image lies below the folder, for engines that have no images of their own. */
export const rootOf = (folder: string, name: Name | 'configured') => join(folder, 'roots', name);

/** `pin` answers `name@sha256:…` of an image that the engine has under a tag. */
export function makeImages(
  folder: string,
  docker: Docker,
  pin: (docker: Docker, tag: string) => string,
): TestImages {
  const known = join(folder, 'images.json');
  if (existsSync(known)) return JSON.parse(readFileSync(known, 'utf8'));
  loadImages(folder, docker);
  const pinned = NAMES.map((name) => [name, pin(docker, tagOf(name))]);
  const local = rootOf(folder, 'busybox');
  writeFileSync(join(local, 'etc/local'), 'not pushed\n');
  docker(['load'], imageOf(local, LOCAL, USUAL));
  rmSync(join(local, 'etc/local'));
  const configured = rootOf(folder, 'configured');
  rmSync(configured, { recursive: true, force: true });
  IMAGE_ROOTS.busybox(configured);
  loadImage(configured, tagOf('configured'), docker, CONFIGURED);
  const images = {
    ...Object.fromEntries(pinned),
    configured: pin(docker, tagOf('configured')),
    local: LOCAL,
  };
  writeFileSync(known, JSON.stringify(images));
  return images;
}

/** Makes the file systems, and images of them by their plain names. */
function loadImages(folder: string, docker: Docker): void {
  for (const name of NAMES) {
    const root = rootOf(folder, name);
    rmSync(root, { recursive: true, force: true });
    IMAGE_ROOTS[name](root);
    loadImage(root, tagOf(name), docker, USUAL);
  }
}

/** What its ENV says lies beside the file system, for engines that have no images of their own. */
function loadImage(root: string, tag: string, docker: Docker, config: ImageConfig): void {
  writeFileSync(`${root}.env`, config.Env.map((line) => `${line}\n`).join(''));
  docker(['load'], imageOf(root, tag, config));
}

/** What `docker save` would write of an image with this one layer, without a date in it. */
function imageOf(rootfs: string, tag: string, imageConfig: ImageConfig): Buffer {
  const layer = tarOf(rootfs, '.');
  const config = JSON.stringify({
    architecture: { x64: 'amd64', arm64: 'arm64' }[process.arch as string] ?? process.arch,
    os: 'linux',
    created: '1970-01-01T00:00:00Z',
    config: imageConfig,
    rootfs: { type: 'layers', diff_ids: [`sha256:${sha256(layer)}`] },
    history: [{ created: '1970-01-01T00:00:00Z' }],
  });
  const name = `${sha256(Buffer.from(config))}.json`;
  const box = `${rootfs}-image`;
  mkdirSync(dirname(join(box, 'layer/layer.tar')), { recursive: true });
  writeFileSync(join(box, 'layer/layer.tar'), layer);
  writeFileSync(join(box, name), config);
  writeFileSync(
    join(box, 'manifest.json'),
    JSON.stringify([{ Config: name, RepoTags: [tag], Layers: ['layer/layer.tar'] }]),
  );
  const image = tarOf(box, '.');
  rmSync(box, { recursive: true });
  return image;
}

function tarOf(folder: string, what: string): Buffer {
  const plain = ['--sort=name', '--mtime=@0', '--owner=0', '--group=0', '--numeric-owner', '--format=ustar'];
  return execFileSync('tar', ['-C', folder, ...plain, '-c', what], { maxBuffer: 256 * 1024 * 1024 });
}

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

/** For who wants to use them: nothing is pushed, so that they are known by their ids. */
function main(): void {
  const [command, given] = process.argv.slice(2);
  if (command !== 'load') {
    console.error('usage: docker-images.ts load [FOLDER]');
    process.exitCode = 2;
    return;
  }
  const folder = given === undefined ? mkdtempSync(join(tmpdir(), 'haft-images-')) : resolve(given);
  const docker: Docker = (args, input) =>
    execFileSync('docker', args, { ...(input ? { input } : {}), encoding: 'utf8' });
  loadImages(folder, docker);
  for (const name of NAMES) {
    const id = docker(['image', 'inspect', tagOf(name), '--format', '{{.Id}}']).trim();
    console.log(`${tagOf(name)} ${id}${given === undefined ? '' : ` ${rootOf(folder, name)}`}`);
  }
  if (given === undefined) rmSync(folder, { recursive: true });
}

if (import.meta.main) main();
