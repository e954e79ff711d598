// Owns: one line on standard error that says how far long work has come, and is gone when the work is done.
// Refuses: to be drawn where standard error is no terminal, and more often than an eye can follow.
import type { Progress } from '../../contract/operation.ts';
import { oneLine } from '../../contract/terminal-text.ts';
import type { Io } from './command.ts';
import { cut } from './terminal-style.ts';

export interface ProgressLine {
  show(progress: Progress): void;
  /** Takes the line away, so that other text can be written. */
  clear(): void;
}

const EVERY_MS = 80;
const TICK_MS = 1000;
const BAR = 20;

type Screen = Pick<Io, 'errBytes' | 'columns'>;

const lines = new WeakMap<Screen, ProgressLine>();

/** The one of this terminal. */
export function progressOf(io: Screen): ProgressLine {
  const line = lines.get(io) ?? createProgress(io);
  lines.set(io, line);
  return line;
}

export const endProgress = (io: Screen): void => lines.get(io)?.clear();

export function createProgress(
  io: Screen,
  now: () => number = performance.now.bind(performance),
): ProgressLine {
  let shownAt = Number.NEGATIVE_INFINITY;
  let since = 0;
  let last: Progress = {};
  let ticking: NodeJS.Timeout | undefined;
  const draw = () => {
    shownAt = now();
    const seconds = Math.floor((shownAt - since) / 1000);
    const text = `${renderProgress(last)}${seconds < 2 ? '' : ` (${seconds} s)`}`;
    io.errBytes(Buffer.from(`\r\x1b[K${cut(text, io.columns - 1)}`));
  };
  return {
    show(progress) {
      last = progress;
      if (!ticking) {
        since = now();
        // What takes long and says nothing meanwhile is still seen to go on.
        ticking = setInterval(draw, TICK_MS).unref();
      }
      if (now() - shownAt >= EVERY_MS) draw();
    },
    clear() {
      if (!ticking) return;
      clearInterval(ticking);
      ticking = undefined;
      shownAt = Number.NEGATIVE_INFINITY;
      io.errBytes(Buffer.from('\r\x1b[K'));
    },
  };
}

export function renderProgress({ pct, message = '' }: Progress): string {
  const said = oneLine(message);
  if (pct === undefined) return said;
  const part = Math.max(0, Math.min(100, pct));
  const full = Math.round((part / 100) * BAR);
  return `${'█'.repeat(full)}${'░'.repeat(BAR - full)} ${String(Math.round(part)).padStart(3)}% ${said}`.trimEnd();
}
