// Owns: a shell in which `haft` is the built command, for lines that are pasted as they are printed.
// Refuses: to hide a line that failed: the first one ends it.
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { NODE_ARGS } from './haft.ts';

export interface Shell {
  /** Answers what they printed; throws with all of it where one fails. */
  paste(lines: string, env?: Readonly<Record<string, string>>): string;
}

/** `programs` is a folder for the command itself; lines run in `cwd`. */
export function shellWithHaft(programs: string, cwd: string): Shell {
  mkdirSync(programs, { recursive: true });
  const words = [process.execPath, ...NODE_ARGS].map((word) => `'${word}'`).join(' ');
  writeFileSync(join(programs, 'haft'), `#!/bin/sh\nexec ${words} "$@"\n`, { mode: 0o755 });
  const PATH = [programs, dirname(process.execPath), process.env.PATH].join(':');
  return {
    paste(lines, env = {}) {
      const { status, stdout, stderr } = spawnSync('sh', ['-eu', '-c', lines], {
        cwd,
        encoding: 'utf8',
        env: { ...process.env, ...env, PATH },
      });
      if (status !== 0) throw new Error(`${lines}\nended with ${status}:\n${stdout}${stderr}`);
      return stdout;
    },
  };
}
