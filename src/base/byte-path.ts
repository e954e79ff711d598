// Owns: paths as text without loss: a byte that is not UTF-8 is a lone surrogate (U+DC80 to U+DCFF, as Python's
// surrogateescape has it), so that such a path can be cut, compared and matched like any other.
// Refuses: to be passed to the system or shown to anybody as it is: toSystem and toPrintable do that.

/** With this flag a pair of surrogates is one character, so only lone ones match. */
const ESCAPED = /[\udc80-\udcff]/u;
const EVERY_ESCAPED = /[\udc80-\udcff]/gu;
// Those that break a line of text, too.
const UNPRINTABLE = /[\u0000-\u001f\u007f\udc80-\udcff]/gu;

export function fromBytes(bytes: Buffer): string {
  const text = bytes.toString('utf8');
  if (!text.includes('\ufffd') || Buffer.from(text).equals(bytes)) return text;
  let decoded = '';
  for (let at = 0; at < bytes.length; ) {
    const lead = bytes[at]!;
    const length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    const slice = bytes.subarray(at, at + length);
    const char = slice.toString('utf8');
    const valid = Buffer.from(char).equals(slice);
    decoded += valid ? char : String.fromCharCode(0xdc00 + lead);
    at += valid ? length : 1;
  }
  return decoded;
}

/** What functions of node:fs take for this path. */
export function toSystem(path: string): string | Buffer {
  if (!ESCAPED.test(path)) return path;
  const parts: Buffer[] = [];
  let from = 0;
  for (const { index } of path.matchAll(EVERY_ESCAPED)) {
    parts.push(Buffer.from(path.slice(from, index)), Buffer.of(path.charCodeAt(index) - 0xdc00));
    from = index + 1;
  }
  return Buffer.concat([...parts, Buffer.from(path.slice(from))]);
}

/** Whether this is UTF-8, as arguments of programs must be. */
export const isText = (path: string): boolean => !ESCAPED.test(path);

/** On one line, with codes for bytes that are not UTF-8 and for control characters: `caf\xe9`. */
export const toPrintable = (path: string): string =>
  path.replace(UNPRINTABLE, (char) => `\\x${(char.charCodeAt(0) & 0xff).toString(16).padStart(2, '0')}`);
