// Owns: whole lines out of a stream of short status messages.
// Refuses: program output, which has no bound on a line.
import type { Readable } from 'node:stream';

export function onLines(stream: Readable, take: (line: string) => void): void {
  let rest = '';
  stream.setEncoding('utf8').on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop()!;
    for (const line of lines) take(line);
  });
}
