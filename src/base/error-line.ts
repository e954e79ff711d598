// Owns: which line of what a failed program wrote to standard error says why: the last one, unless that is only what a runtime writes around an error.
// Not here: secrets, which are taken out before or after.

/** Undefined where nothing was said. */
export function errorLine(stderr: string): string | undefined {
  const lines = stderr
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  const last = lines.at(-1);
  if (last === undefined || !AROUND_ERRORS.test(last)) return last;
  if (NODE_END.test(last)) {
    // Node.js shows the source, marks the place, and then says the error, with its frames and members below.
    const mark = lines.findLastIndex((line) => MARK.test(line));
    const below = mark < 0 ? [] : lines.slice(mark + 1);
    const said = below.slice(
      0,
      below.findIndex((line) => AROUND_ERRORS.test(line)),
    );
    const line = said.find((one) => NAMED.test(one)) ?? said[0];
    if (line !== undefined) return line;
  }
  const telling = lines.filter((line) => !AROUND_ERRORS.test(line));
  return telling.findLast((line) => TELLS_ERROR.test(line)) ?? telling.at(-1) ?? last;
}

/** Frames of a stack, what Node.js writes around an error, and what a shell says when it is ended. */
export const AROUND_ERRORS = /^(at .+|\.\.\. \d+ .+|Node\.js v\d\S*|[\^~}{)(]+|Terminated|Killed)$/;
export const TELLS_ERROR = /\b(\w*(Error|Exception)\b.*:|cannot |no such |not found|denied|read-only)/i;

const NODE_END = /^Node\.js v\d\S*$/;
const MARK = /^\^[\^~]*$/;
const NAMED = /^(Uncaught )?[\w.]*(Error|Exception)\b/;
