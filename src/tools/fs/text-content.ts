// Owns: how file bytes and the text in arguments and answers become each other, byte for byte.
// Refuses: repairs. What is not valid in the asked encoding is said, never replaced.
import { isUtf8 } from 'node:buffer';
import { fail } from '../../contract/errors.ts';

export type AskedEncoding = 'auto' | 'utf8' | 'base64';

export interface TextContent {
  readonly content: string;
  readonly encoding: 'utf-8' | 'base64';
}

/** `auto` answers text where the bytes are text: valid UTF-8 without NUL. A byte order mark and CRLF stay. */
export function toContent(bytes: Uint8Array, asked: AskedEncoding, path: string): TextContent {
  const buffer = asBuffer(bytes);
  if (asked === 'utf8' && !isUtf8(buffer)) {
    throw fail('input.encoding', `Cannot read "${path}" as text: it is not UTF-8; ask for encoding "base64"`);
  }
  if (asked === 'base64' || (asked === 'auto' && !isText(buffer))) {
    return { content: buffer.toString('base64'), encoding: 'base64' };
  }
  return { content: buffer.toString('utf8'), encoding: 'utf-8' };
}

/** The bytes that a caller sent as text or as base64. */
export function fromContent(content: string, encoding: 'utf8' | 'base64', path: string): Uint8Array {
  if (encoding === 'base64') {
    const bytes = Buffer.from(content, 'base64');
    // Node skips what it does not understand; only writing it back shows that.
    if (bytes.toString('base64') === content) return bytes;
    throw fail('input.encoding', `Cannot write "${path}": content is not base64 (with padding, on one line)`);
  }
  if (content.isWellFormed()) return Buffer.from(content, 'utf8');
  throw fail('input.encoding', `Cannot write "${path}": content has half of a surrogate pair`);
}

export function isText(bytes: Uint8Array): boolean {
  return isUtf8(bytes) && !bytes.includes(0);
}

/** @internal Without a copy, and not in the published types, which hold without those of Node. */
export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
