// Owns: how the success of an attack is seen: every way is looked at after every case.
// Refuses: to know the attacks.
import { existsSync, lstatSync, readdirSync, readFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import type { CallResponse } from '../../../../src/index.ts';
import { snapshot, snapshotOf } from '../snapshot.ts';
import { type Arena, GUARDED, SENTINEL } from './arena.ts';
import type { Sight } from './case.ts';

export interface Watch {
  /** What is to be seen of a success, by the way in which it is seen. Empty where nothing is. */
  look(responses: readonly CallResponse[]): Partial<Record<Sight, string>>;
}

/** Notes how everything is before a case. */
export function watchArena(arena: Arena): Watch {
  const before = { outside: snapshot(arena.outside.root), guarded: guarded(arena), machine: machine(arena) };
  const came = arena.listeners.came.length;
  return {
    look(responses) {
      const text = JSON.stringify(responses);
      const seen: Partial<Record<Sight, string | undefined>> = {
        stub: existsSync(arena.workspace.path('pwned')) ? 'pwned is there' : undefined,
        outside: difference(before.outside, snapshot(arena.outside.root)) ?? strewn(arena),
        secret: text.includes(SENTINEL)
          ? text.slice(Math.max(0, text.indexOf(SENTINEL) - 200)).slice(0, 300)
          : undefined,
        connection:
          arena.listeners.came.slice(came).join(', ') ||
          (/^CONNECTED .*$/m.exec(linesOf(responses))?.[0] ?? undefined),
        process: leftOver(arena.mark) ?? harmed(arena),
        protected: difference(before.guarded, guarded(arena)),
        granted:
          /^DONE.*$/m.exec(linesOf(responses))?.[0] ??
          difference(before.machine, machine(arena)) ??
          privileged(arena),
      };
      return Object.fromEntries(Object.entries(seen).filter(([, what]) => what !== undefined)) as Partial<
        Record<Sight, string>
      >;
    },
  };
}

interface Printed {
  readonly stdout?: string;
  readonly stderr?: string;
}

/** Also of those that ran out of time. */
export function linesOf(responses: readonly CallResponse[]): string {
  return responses
    .map(({ data, errors = [] }) => (data ?? errors[0]?.details) as Printed | undefined)
    .map((data) => `${data?.stdout ?? ''}\n${data?.stderr ?? ''}`)
    .join('\n');
}

/** Processes with the mark in their environment or among their arguments. */
export function marked(mark: string): string[] {
  return readdirSync('/proc').filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    return ['environ', 'cmdline'].some((file) => {
      try {
        return readFileSync(`/proc/${pid}/${file}`, 'latin1').includes(mark);
      } catch {
        return false;
      }
    });
  });
}

function leftOver(mark: string): string | undefined {
  const left = marked(mark);
  return left.length > 0 ? `${left.length} processes are left` : undefined;
}

function harmed({ victim }: Arena): string | undefined {
  if (victim.exitCode !== null || victim.signalCode !== null) return 'the victim was ended';
  const status = readFileSync(`/proc/${victim.pid}/status`, 'utf8');
  return /^State:\s+S/m.test(status) && /^TracerPid:\s+0$/m.test(status)
    ? undefined
    : 'the victim was stopped or is traced';
}

/** Of Haft's own state only that it is the same folder, and holds nothing strange. */
const guarded = ({ workspace }: Arena): readonly string[] => [
  `.haft ${lstatSync(workspace.path('.haft')).ino} ${readdirSync(workspace.path('.haft')).filter((name) => !/^(haft\.db.*|objects|placeholders|quarantine|\.gitignore)$/.test(name))}`,
  ...GUARDED.flatMap((path) => {
    const at = workspace.path(path);
    const isFolder = lstatSync(at, { throwIfNoEntry: false })?.isDirectory();
    return isFolder ? snapshot(at).map((line) => `${path}/${line}`) : snapshotOf(workspace.root, [path]);
  }),
];

/** Mounts, name and settings of the machine, and files that a root would have left. */
function machine({ workspace }: Arena): readonly string[] {
  // Engines that other tests run meanwhile mount in temporary folders of their own.
  const isOthers = (line: string) => {
    const [, , , , at = ''] = line.split(' ');
    return at.startsWith(`${tmpdir()}/`) && !at.startsWith(`${workspace.root}/`);
  };
  const read = (path: string) => `${path} ${readFileSync(path, 'utf8').trim()}`;
  return [
    ...readFileSync('/proc/self/mountinfo', 'utf8')
      .split('\n')
      .filter((line) => !isOthers(line)),
    `hostname ${hostname()}`,
    ...['/proc/sys/kernel/core_pattern', '/proc/sys/kernel/modprobe'].filter(existsSync).map(read),
    ...['/', '/etc', '/usr', '/usr/bin', '/dev', '/run', '/root'].map(
      (at) => `${at}/pwned ${existsSync(join(at, 'pwned'))}`,
    ),
    `/etc/ld.so.preload ${existsSync('/etc/ld.so.preload')}`,
  ];
}

/** Files that would be the host's if the sandbox's temporary folders were. */
function strewn({ mark, workspace }: Arena): string | undefined {
  const places = ['/tmp', '/var/tmp', '/dev/shm', join(workspace.root, '..')];
  const found = places.flatMap((at) =>
    readdirSync(at).filter((name) => name === 'pwned' || name.includes(`pwned-${mark}`)),
  );
  return found.length > 0 ? found.map((name) => basename(name)).join(', ') : undefined;
}

/** Set-user-ID files and devices in the workspace. */
function privileged({ workspace }: Arena): string | undefined {
  return readdirSync(workspace.root).find((name) => {
    const stat = lstatSync(workspace.path(name), { throwIfNoEntry: false });
    return (
      stat &&
      (stat.isBlockDevice() || stat.isCharacterDevice() || (stat.isFile() && (stat.mode & 0o6000) !== 0))
    );
  });
}

function difference(before: readonly string[], after: readonly string[]): string | undefined {
  const old = new Set(before);
  const now = new Set(after);
  const changed = [
    ...after.filter((line) => !old.has(line)).map((line) => `+ ${line}`),
    ...before.filter((line) => !now.has(line)).map((line) => `- ${line}`),
  ];
  return changed.length > 0 ? changed.slice(0, 3).join('; ').slice(0, 400) : undefined;
}
