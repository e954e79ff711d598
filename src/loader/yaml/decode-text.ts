// Owns: the text of a file: UTF-8, without the mark that some editors put first.
// Refuses: other encodings, and guessing one.
import { isUtf8 } from 'node:buffer';
import type { Report } from './report.ts';

/** Undefined where the bytes are not UTF-8, which is reported with the place of the first bad one. */
export function decodeText(bytes: Uint8Array, report: Report): string | undefined {
  // A decoder of its own would cost half a millisecond of every start.
  if (isUtf8(bytes))
    return Buffer.from(bytes)
      .toString('utf8')
      .replace(/^\ufeff/, '');
  // The decoder puts U+FFFD where it fails; one that was written is three bytes of its own and stays valid.
  const lenient = new TextDecoder('utf-8').decode(bytes);
  let at = 0;
  for (at = lenient.indexOf('\ufffd'); at !== -1; at = lenient.indexOf('\ufffd', at + 1)) {
    const before = Buffer.byteLength(lenient.slice(0, at));
    if (!(bytes[before] === 0xef && bytes[before + 1] === 0xbf && bytes[before + 2] === 0xbd)) break;
  }
  const lines = lenient.slice(0, Math.max(0, at)).split('\n');
  const place = { line: lines.length, column: (lines.at(-1)?.length ?? 0) + 1 };
  report.error('file.encoding', place, 'The text is not UTF-8', 'save the file as UTF-8');
  return undefined;
}
