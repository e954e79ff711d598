// Owns: images made from programs of this machine, equal bytes from equal programs, on a machine that can pull nothing.
// Refuses: the outside: what gives an image its repository digest is a registry on 127.0.0.1.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

export interface TestImages {
  /** busybox with all of its programs, by the digest that the registry gave it. */
  readonly busybox: string;
  /** The same and one file more, known by a tag only: nobody has pushed it anywhere. */
  readonly local: string;
}

type Docker = (args: readonly string[], input?: Uint8Array) => string;

const LOCAL = 'haft/local:1';

export function makeImages(folder: string, registry: string, docker: Docker): TestImages {
  const known = join(folder, 'images.json');
  if (existsSync(known)) return JSON.parse(readFileSync(known, 'utf8'));
  const rootfs = join(folder, 'rootfs');
  busyboxRoot(rootfs);
  const tag = `${registry}/haft/busybox:1`;
  docker(['load'], imageOf(rootfs, tag));
  docker(['push', '-q', tag]);
  writeFileSync(join(rootfs, 'etc/local'), 'not pushed\n');
  docker(['load'], imageOf(rootfs, LOCAL));
  const images = {
    busybox: docker(['image', 'inspect', tag, '--format', '{{index .RepoDigests 0}}']).trim(),
    local: LOCAL,
  };
  rmSync(rootfs, { recursive: true });
  writeFileSync(known, JSON.stringify(images));
  return images;
}

function busyboxRoot(rootfs: string): void {
  for (const name of ['bin', 'etc', 'tmp']) mkdirSync(join(rootfs, name), { recursive: true });
  cpSync('/bin/busybox', join(rootfs, 'bin/busybox'));
  const programs = execFileSync('/bin/busybox', ['--list'], { encoding: 'utf8' }).split('\n');
  for (const name of programs) {
    if (name !== '' && name !== 'busybox') symlinkSync('busybox', join(rootfs, 'bin', name));
  }
  writeFileSync(join(rootfs, 'etc/passwd'), 'root:x:0:0:root:/:/bin/sh\n');
}

/** What `docker save` would write of an image with this one layer, without a date in it. */
function imageOf(rootfs: string, tag: string): Buffer {
  const layer = tarOf(rootfs, '.');
  const config = JSON.stringify({
    architecture: { x64: 'amd64', arm64: 'arm64' }[process.arch as string] ?? process.arch,
    os: 'linux',
    created: '1970-01-01T00:00:00Z',
    config: { Env: ['PATH=/bin'], Cmd: ['sh'] },
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
