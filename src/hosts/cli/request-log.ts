// Owns: the log of `haft serve`: one line on standard error for each request that was answered.
// Refuses: tokens: queries, headers and bodies never get here.
import { oneLine } from '../../contract/terminal-text.ts';
import type { Io } from './command.ts';
import { localTime, painter, wantsColour } from './terminal-style.ts';

interface Answered {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly ms: number;
}

export function createRequestLog(
  io: Pick<Io, 'errBytes' | 'errTty'>,
  { json, utc, color }: { readonly json: boolean; readonly utc: boolean; readonly color?: unknown },
  now: () => number = Date.now,
): (answered: Answered) => void {
  const paint = painter(!json && wantsColour(color, io.errTty, process.env));
  const time = () => (io.errTty && !utc && !json ? localTime(now()) : new Date(now()).toISOString());
  const put = (line: string) => io.errBytes(Buffer.from(`${line}\n`));
  return ({ method, path, status, ms }) => {
    const took = Math.round(ms * 10) / 10;
    if (json) return put(JSON.stringify({ time: time(), method, path, status, ms: took }));
    const hue = status >= 500 ? 'red' : status >= 400 ? 'yellow' : 'green';
    put(
      `${paint('dim', time())}  ${oneLine(method).padEnd(4)}  ${oneLine(path)}  ${paint(hue, String(status))}  ${took} ms`,
    );
  };
}
