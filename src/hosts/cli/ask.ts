// Owns: asking a person at the terminal for a line.
// Refuses: to print on standard output.
import type { ReadStream } from 'node:tty';
import { fail } from '../../contract/errors.ts';
import { printable } from '../../contract/terminal-text.ts';

/** The line that was typed, without its end. Ctrl-D throws `time.cancelled`. */
export function ask(question: string, input: ReadStream = process.stdin): Promise<string> {
  return new Promise((resolve, reject) => {
    let typed = '';
    const finish = (settle: () => void) => {
      input.off('data', onData);
      input.off('end', onEnd);
      input.pause();
      settle();
    };
    const onEnd = () => finish(() => reject(fail('time.cancelled', 'Cannot go on: nothing was typed')));
    const onData = (text: string) => {
      typed += text;
      const end = typed.indexOf('\n');
      if (end >= 0) finish(() => resolve(typed.slice(0, end).trim()));
    };
    process.stderr.write(printable(question));
    input.setEncoding('utf8');
    input.on('data', onData);
    input.once('end', onEnd);
    input.resume();
  });
}
