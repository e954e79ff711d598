// Owns: a command on a real terminal: `script` of util-linux makes a pseudo-terminal, as wide as the test wants it.
// Refuses: to fake one, and to hide what is written to it: all of it comes back, escape sequences too.
import { spawn } from 'node:child_process';
import { NODE_ARGS } from './haft.ts';

export interface Terminal {
  readonly cwd: string;
  readonly columns?: number;
  readonly env?: Readonly<Record<string, string>>;
  /** Typed at once. */
  readonly typed?: string;
}

export interface Seen {
  readonly status: number | null;
  /** What is on the screen, with line feeds only. */
  readonly shown: string;
}

const ENDED = '<ended with ';
const END = /<ended with (\d+)\.$/;

const quoted = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`;

/** `redirect` is for one of the two streams: `2>/dev/null`. */
export function onTerminal(args: readonly string[], terminal: Terminal, redirect = ''): Promise<Seen> {
  const { cwd, columns = 100, env = {}, typed } = terminal;
  const haft = [process.execPath, ...NODE_ARGS, ...args].map(quoted).join(' ');
  const line = `stty cols ${columns} -echo; ${haft} ${redirect}; printf '${ENDED}%d.' $?`;
  const child = spawn('script', ['-qec', line, '/dev/null'], {
    cwd,
    env: { ...process.env, TERM: 'xterm', NO_COLOR: '', FORCE_COLOR: '', TZ: 'UTC', ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let shown = '';
  child.stdout.setEncoding('utf8').on('data', (piece: string) => {
    shown += piece;
    // `script` may miss that its child is gone where both were stopped for a while.
    if (END.test(shown)) child.kill();
  });
  if (typed !== undefined) child.stdin.write(typed);
  return new Promise((resolve) => {
    child.once('close', () => {
      const status = END.exec(shown)?.[1];
      resolve({
        status: status === undefined ? null : Number(status),
        shown: shown.replace(END, '').replaceAll('\r\n', '\n'),
      });
    });
  });
}
