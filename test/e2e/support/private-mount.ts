// Owns: a small disk of a test's own, mounted where only a private mount namespace can see it.
// Refuses: to leave a mount behind: the namespace, and the disk with it, ends with one process.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NODE_ARGS, type Ran } from './haft.ts';

export const mounting = {
  /** Why such tests cannot run here, or false. With CI=true they run, and fail where they cannot. */
  missing:
    spawnSync('unshare', ['-m', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt']).status === 0 ||
    process.env.CI === 'true'
      ? false
      : 'mounting needs root',
};

export interface PrivateMount {
  /** Where the disk is, inside of the namespace. */
  readonly folder: string;
  /** The same place as this process can reach it. */
  seen(rel: string): string;
  sh(script: string): Ran;
  haft(args: readonly string[], env?: Readonly<Record<string, string>>): Ran;
  /** Takes all space that is left. */
  fill(): void;
  free(): void;
  close(): Promise<void>;
}

/** The disk holds `mib` MiB. */
export async function makePrivateMount(mib: number): Promise<PrivateMount> {
  const folder = mkdtempSync(join(tmpdir(), 'haft-mount-'));
  // Ends with its standard input, so that it cannot outlive the test.
  const script = 'mount -t tmpfs -o "size=$1m,mode=0755" tmpfs "$2" && echo ready && exec cat';
  const keeper = spawn('unshare', ['-m', 'sh', '-c', script, 'sh', `${mib}`, folder], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  await once(keeper.stdout, 'data');
  const inside = (words: readonly string[], env: Readonly<Record<string, string>> = {}): Ran => {
    // The folder is entered in there: out here it is an ordinary one.
    const enter = ['-t', `${keeper.pid}`, '-m', 'sh', '-c', 'cd "$0" && exec "$@"', folder, ...words];
    const { status, stdout, stderr } = spawnSync('nsenter', enter, {
      encoding: 'utf8',
      env: { ...process.env, ...env },
    });
    return { status, stdout, stderr };
  };
  const sh = (text: string) => inside(['sh', '-c', text]);
  return {
    folder,
    seen: (rel) => `/proc/${keeper.pid}/root${folder}/${rel}`,
    sh,
    haft: (args, env) => inside([process.execPath, ...NODE_ARGS, ...args, '--workspace', folder], env),
    fill() {
      const { stderr } = sh(`dd if=/dev/zero of=.fill bs=4k count=${mib * 512}`);
      if (!stderr.includes('No space left')) throw new Error(`the disk is not full: ${stderr}`);
    },
    free: () => void sh('rm .fill'),
    async close() {
      const closed = once(keeper, 'close');
      keeper.stdin.end();
      await closed;
      rmSync(folder, { recursive: true });
    },
  };
}
