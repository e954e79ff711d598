// Owns: asking a person at the terminal for a line, and for something that must not be seen there.
// Refuses: to print on standard output; to echo a secret, and to keep the terminal raw when it is done.
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

/** The line that was typed, without its end. Ctrl-C and Ctrl-D throw `time.cancelled`. */
export function askSecret(question: string, input: ReadStream = process.stdin): Promise<string> {
  return new Promise((resolve, reject) => {
    let typed = '';
    const finish = (settle: () => void) => {
      input.off('data', onData);
      input.off('end', onEnd);
      input.setRawMode(false);
      input.pause();
      process.stderr.write('\n');
      settle();
    };
    const onEnd = () => finish(() => reject(fail('time.cancelled', 'Cannot go on: nothing was typed')));
    const onData = (text: string) => {
      for (const character of text) {
        const act = KEYS[character];
        if (act === 'enter') return finish(() => resolve(typed));
        if (act === 'leave') return onEnd();
        if (act === 'erase') typed = [...typed].slice(0, -1).join('');
        else if (act === 'clear') typed = '';
        else typed += character;
      }
    };
    // Before the question: whoever is fast may type at once.
    input.setRawMode(true);
    process.stderr.write(question);
    input.setEncoding('utf8');
    input.on('data', onData);
    input.once('end', onEnd);
    input.resume();
  });
}

const KEYS: Readonly<Record<string, 'enter' | 'leave' | 'erase' | 'clear'>> = {
  '\r': 'enter',
  '\n': 'enter',
  '\u0003': 'leave',
  '\u0004': 'leave',
  '\u007f': 'erase',
  '\b': 'erase',
  '\u0015': 'clear',
};
