// Owns: the source of a module that is loaded into a server before its own code, and writes down which calls it received.
// Refuses: to change anything: what comes passes on as it came.

/** Over pipes and over HTTP. What was received is on disk before the server can act on it. */
export const TAP = `
import { appendFileSync } from 'node:fs';
import { IncomingMessage, ServerResponse } from 'node:http';
const note = (line) => appendFileSync(process.env.TAP_FILE, line + '\\n');
let last = 0;
const tapped = (stream, received) => {
  const { push } = stream;
  stream.push = function (chunk, ...more) {
    if (chunk) received(this, chunk.toString());
    return push.call(this, chunk, ...more);
  };
};
if (process.env.TAP_OF === 'http') {
  const idOf = (request) => (request.tapId ??= process.pid + '-' + ++last);
  tapped(IncomingMessage.prototype, (request, body) => note(JSON.stringify({ tap: idOf(request), body })));
  const { writeHead } = ServerResponse.prototype;
  ServerResponse.prototype.writeHead = function (status, ...more) {
    if (status >= 400) note(JSON.stringify({ refused: idOf(this.req) }));
    return writeHead.call(this, status, ...more);
  };
} else {
  let rest = '';
  tapped(process.stdin, (_, text) => {
    const lines = (rest + text).split('\\n');
    rest = lines.pop();
    for (const body of lines) note(JSON.stringify({ body }));
  });
}
`;

interface Noted {
  readonly tap?: string;
  readonly body?: string;
  readonly refused?: string;
}

/** The arguments of every call of a tool that was received, and not refused as a request that nobody can answer. */
export function receivedCalls(text: string): readonly unknown[] {
  const noted = text
    .split('\n')
    .filter(Boolean)
    .flatMap((line): Noted[] => {
      try {
        return [JSON.parse(line)];
      } catch {
        return []; // it was killed while it wrote this
      }
    });
  const refused = new Set(noted.flatMap((one) => one.refused ?? []));
  return noted.flatMap(({ tap, body }) => {
    if (body === undefined || (tap !== undefined && refused.has(tap))) return [];
    const { method, params } = JSON.parse(body) as { method?: string; params?: { arguments?: unknown } };
    return method === 'tools/call' ? [params?.arguments] : [];
  });
}
