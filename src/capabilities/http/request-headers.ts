// Owns: which headers callers may send, and which are sent for them.
// Refuses: whatever frames, routes or splits a message: those are the client's own.
import { fail } from '../../contract/errors.ts';
import { VERSION } from '../../contract/version.ts';
import { ACCEPTED_ENCODINGS } from './decode-body.ts';

/** Names in lower case. */
export type Headers = ReadonlyMap<string, string>;

const MAX_HEADERS = 100;
const MAX_BYTES = 48 * 1024;
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** A tab and the printable part of Latin-1: what a header can hold without being read otherwise somewhere. */
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

const OURS = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'http2-settings',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

export function checkHeaders(given: { readonly [name: string]: string } = {}): Headers {
  const headers = new Map<string, string>();
  let bytes = 0;
  for (const [name, value] of Object.entries(given)) {
    const lower = name.toLowerCase();
    const shown = JSON.stringify(name.slice(0, 64));
    if (!TOKEN.test(name)) throw refuse(`${shown} is not the name of a header`);
    if (OURS.has(lower) || lower.startsWith('proxy-')) throw refuse(`${shown} is set by the client alone`);
    if (headers.has(lower)) throw refuse(`${shown} is there more than once`);
    if (!VALUE.test(value))
      throw refuse(`the value of ${shown} holds line breaks or other control characters`);
    headers.set(lower, value.trim());
    bytes += name.length + value.length + 4;
  }
  if (headers.size > MAX_HEADERS) throw refuse(`there are more than ${MAX_HEADERS}`);
  if (bytes > MAX_BYTES) throw refuse(`they are larger than ${MAX_BYTES} bytes`);
  for (const [name, value] of DEFAULTS) if (!headers.has(name)) headers.set(name, value);
  return headers;
}

const refuse = (fact: string) => fail('http.header', `Cannot send these headers: ${fact}`);

const DEFAULTS: readonly (readonly [string, string])[] = [
  ['accept', '*/*'],
  ['accept-encoding', ACCEPTED_ENCODINGS],
  ['user-agent', `haft/${VERSION}`],
];
