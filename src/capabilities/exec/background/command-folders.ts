// Owns: the folders by which plain shells are given their commands: one for each, shown to it read-only.
// Refuses: to lie where a program could write it by another name.
import { randomUUID } from 'node:crypto';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ignoreErrors } from '../../../base/ignore-errors.ts';
import { isWithin } from '../../../base/rel-path.ts';
import { fail } from '../../../contract/errors.ts';
import { WORK_FOLDER } from '../../../contract/plan.ts';
import { ownPrefix, removeLeftovers } from '../sandbox/scratch.ts';

/** Where a plain shell finds its own. Nothing in a sandbox can write beside it, or put another thing in its place. */
export const COMMANDS_AT = `${WORK_FOLDER}/haft-commands`;

export interface CommandFolder {
  readonly path: string;
  /** A whole file, or none; returns its name, which is used once. */
  put(text: string): string;
  /** Once its shell is gone. */
  release(): void;
}

export interface CommandFolders {
  /** Throws `shell.failed` where the workspace leaves no place for one. */
  take(workspace: string): CommandFolder;
  close(): void;
}

const KIND = 'haft-shells';

/** Few, and used again: the sandbox remembers each that it was shown. */
export function createCommandFolders(): CommandFolders {
  let base: string | undefined;
  const free: string[] = [];
  const make = (): string => {
    // Other users see its name, and cannot guess what is in it: programs of another user must get there.
    const path = join(base!, randomUUID());
    mkdirSync(path);
    chmodSync(path, 0o755);
    return path;
  };
  return {
    take(workspace) {
      base ??= makeBase(workspace);
      if (base === undefined || meet(workspace, COMMANDS_AT))
        throw fail(
          'shell.failed',
          'Cannot start a plain shell: the workspace leaves no place for its commands',
        );
      const path = free.pop() ?? make();
      let last = 0;
      return {
        path,
        put(text) {
          const name = String(++last);
          const file = join(path, name);
          writeFileSync(`${file}.new`, text);
          chmodSync(`${file}.new`, 0o644);
          renameSync(`${file}.new`, file);
          return name;
        },
        release() {
          for (const name of readdirSync(path)) rmSync(join(path, name), { force: true });
          free.push(path);
        },
      };
    },
    close() {
      if (base !== undefined) rmSync(base, { recursive: true, force: true });
      base = undefined;
      free.length = 0;
    },
  };
}

function makeBase(workspace: string): string | undefined {
  const places = [tmpdir(), '/var/tmp'].flatMap(
    (path) => ignoreErrors(() => realpathSync.native(path)) ?? [],
  );
  const place = places.find((path) => !meet(workspace, path));
  if (place === undefined) return undefined;
  removeLeftovers(place, KIND, (path) => rmSync(path, { recursive: true, force: true }));
  const base = mkdtempSync(join(place, ownPrefix(KIND)));
  chmodSync(base, 0o711);
  return base;
}

/** The workspace holds the place: what lies there can be written by its name in the workspace. */
const meet = (workspace: string, place: string): boolean => isWithin(place, workspace);
