// Owns: what a server wrote to its standard error, kept for a person: its last lines, bounded, without secrets.
// Refuses: to keep anybody waiting, and to fail a server because its words cannot be kept.
import {
  appendFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { type BothEnds, createBothEnds } from '../base/bounded-buffer.ts';
import { readRegularText } from './read-regular.ts';

export interface PackLog {
  /** Pending where it says more in one moment than anybody could read: a flood waits, so that nobody else does. */
  said(chunk: Uint8Array): void | Promise<void>;
  /** What happened to it, in our words. */
  note(text: string): void;
  flush(): Promise<void>;
}

export interface PackLogSite {
  /** The state folder. Nothing is kept where there is none. */
  readonly folder: string;
  readonly name: string;
  redact(text: string): Promise<string>;
}

/** Of what comes between two writes: a flood costs no more than this. */
const HELD_BYTES = 32 * 1024;
const FILE_BYTES = 256 * 1024;
const WAIT_MS = 200;
const FLOOD_BYTES = 256 * 1024;

export function openPackLog({ folder, name, redact }: PackLogSite): PackLog {
  let held: BothEnds | undefined;
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> = Promise.resolve();
  const write = async (last: boolean) => {
    clearTimeout(timer);
    timer = undefined;
    const all = held?.bytes() ?? new Uint8Array();
    // A line that has not ended may hold the first half of a secret.
    const end = last ? all.length : all.lastIndexOf(10) + 1 || (all.length < HELD_BYTES ? 0 : all.length);
    const bytes = all.subarray(0, end);
    held = undefined;
    if (end < all.length) hold(all.subarray(end));
    if (bytes.length === 0) return;
    const now = new Date().toISOString();
    const text = await redact(Buffer.from(bytes).toString('utf8')).catch(() => undefined);
    if (text === undefined) return;
    const lines = text
      .split('\n')
      .map((line) => line.replace(/[^\P{Cc}\t]+/gu, ' ').trimEnd())
      .filter((line) => line !== '');
    append(logFile(folder, name), lines.map((line) => `${now} ${line}\n`).join(''));
  };
  const later = () => {
    timer ??= setTimeout(() => {
      writing = writing.then(() => write(false));
    }, WAIT_MS).unref();
  };
  const hold = (chunk: Uint8Array) => {
    held ??= createBothEnds(HELD_BYTES);
    held.push(chunk);
  };
  const said = (chunk: Uint8Array) => {
    hold(chunk);
    later();
    const { total } = held as BothEnds;
    if (total > FLOOD_BYTES) return new Promise<void>((resolve) => setTimeout(resolve, WAIT_MS).unref());
    return undefined;
  };
  return {
    said,
    note: (text) => void said(Buffer.from(`\n-- ${text}\n`)),
    flush() {
      writing = writing.then(() => write(true));
      return writing;
    },
  };
}

/** Its last lines, each with when it was kept; none where nothing was written yet. */
export function readPackLog(folder: string, name: string, most: number): readonly string[] {
  try {
    const file = logFile(folder, name);
    if (!lstatSync(file).isFile()) return [];
    return readRegularText(file).trimEnd().split('\n').slice(-most);
  } catch {
    return [];
  }
}

const logFile = (folder: string, name: string): string => join(folder, 'logs', `${name}.log`);

function append(file: string, text: string): void {
  try {
    if (!existsSync(dirname(dirname(file)))) return;
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    // Nobody reads from a pipe that lies in its place, and it would be waited for.
    if (lstatSync(file, { throwIfNoEntry: false })?.isFile() === false) return;
    appendFileSync(file, text, { mode: 0o600 });
    if (statSync(file).size <= FILE_BYTES) return;
    const kept = readRegularText(file).slice(-FILE_BYTES / 2);
    const temporary = `${file}.${process.pid}.tmp`;
    writeFileSync(temporary, kept.slice(kept.indexOf('\n') + 1), { mode: 0o600 });
    renameSync(temporary, file);
  } catch {
    // A full disk is somebody else's message.
  }
}
