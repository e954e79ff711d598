// Owns: how an operation's answer is printed for whoever reads it: a screen of some width, or a pipe.
// Refuses: local times, cut cells and, unless it is asked for, colour in a pipe: what programs read must not depend on the place.
import type { Reader } from '../../contract/operation.ts';
import { table } from '../../contract/terminal-text.ts';
import type { Invocation } from './command.ts';
import { fitTable, localTime, paintDiff, painter, wantsColour } from './terminal-style.ts';

export function readerOf<Args>(args: Args, { io, flags, workspace }: Invocation): Reader<Args> {
  const { tty } = io;
  const colour = wantsColour(flags.color, tty, process.env);
  const paint = painter(colour);
  const columns = tty && !flags.verbose ? io.columns : undefined;
  const put = (painted: string) => io.bytes(Buffer.from(painted));
  return {
    args,
    tty,
    brief: columns !== undefined,
    workspace,
    out: io.out,
    err: io.err,
    note: flags.quiet ? () => {} : io.err,
    bytes: io.bytes,
    table(rows, header) {
      if (tty || colour) put(fitTable(rows, header, { paint, columns }));
      else io.out(table(rows, header));
    },
    time: (ts) =>
      tty && !flags.utc ? localTime(ts, flags.verbose ? undefined : Date.now()) : new Date(ts).toISOString(),
    diff: (text) => (colour ? put(paintDiff(text, paint)) : io.out(text)),
  };
}
