// Owns: root file systems of programs of this machine, each with the libraries that it needs and nothing else.
// Refuses: to install anything, and what depends on when or where it was made.
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';

export const IMAGE_ROOTS = { busybox: busyboxRoot, coreutils: coreutilsRoot } as const;

/** busybox with all of its programs. */
function busyboxRoot(root: string): void {
  makeFolders(root, ['bin', 'etc', 'tmp']);
  copyProgram('/bin/busybox', join(root, 'bin/busybox'));
  const programs = execFileSync('/bin/busybox', ['--list'], { encoding: 'utf8' }).split('\n');
  for (const name of programs) {
    if (name !== '' && name !== 'busybox') symlinkSync('busybox', join(root, 'bin', name));
  }
  writeUsers(root);
}

/** What a script needs, as this machine has it: a run makes the same bytes in it and beside it. */
const PROGRAMS = [
  ...[
    'sh',
    'awk',
    'sed',
    'grep',
    'gzip',
    'find',
    'xargs',
    'cat',
    'chmod',
    'comm',
    'cp',
    'cut',
    'dirname',
    'du',
    'env',
  ],
  ...[
    'false',
    'head',
    'join',
    'ln',
    'ls',
    'md5sum',
    'mkdir',
    'mkfifo',
    'mktemp',
    'mv',
    'nl',
    'od',
    'paste',
    'printf',
  ],
  ...[
    'rm',
    'seq',
    'sha256sum',
    'sleep',
    'sort',
    'split',
    'stat',
    'tail',
    'tee',
    'test',
    'tr',
    'true',
    'uniq',
    'wc',
  ],
];

function coreutilsRoot(root: string): void {
  makeFolders(root, ['usr/bin', 'usr/lib', 'usr/lib64', 'etc', 'tmp']);
  for (const name of ['bin', 'lib', 'lib64']) symlinkSync(`usr/${name}`, join(root, name));
  const libraries = new Set<string>();
  for (const name of PROGRAMS) {
    const program = realpathSync.native(join('/usr/bin', name));
    copyProgram(program, join(root, 'usr/bin', name));
    for (const library of librariesOf(program)) libraries.add(library);
  }
  for (const library of [...libraries].sort()) {
    const place = join(root, library.startsWith('/usr/') ? library : `/usr${library}`);
    mkdirSync(dirname(place), { recursive: true });
    copyProgram(realpathSync.native(library), place);
  }
  writeUsers(root);
}

/** `libm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x…)`, and the loader by its own path. */
function librariesOf(program: string): readonly string[] {
  const said = execFileSync('ldd', [program], { encoding: 'utf8' });
  return [...said.matchAll(/(\/\S+) \(0x/g)].map(([, path]) => path!);
}

function copyProgram(from: string, to: string): void {
  if (existsSync(to)) return;
  copyFileSync(from, to);
  chmodSync(to, 0o755);
}

function makeFolders(root: string, names: readonly string[]): void {
  for (const name of names) mkdirSync(join(root, name), { recursive: true, mode: 0o755 });
}

function writeUsers(root: string): void {
  writeFileSync(join(root, 'etc/passwd'), 'root:x:0:0:root:/:/bin/sh\n');
}
