// Owns: canonical JSON (RFC 8785), written straight to bytes, and the refusal of every value that has no such form.
// Refuses: to repair a value (no toJSON, no dropped keys, no NaN as null): what is hashed is what was given.
import { jsonPointer, type Rejection, rejection } from './rejection.ts';

/** How many arrays and objects may lie inside each other. */
export const MAX_DEPTH = 64;

/** The canonical bytes of `value`; throws a `Rejection` that names the culprit's path. */
export function canonicalJson(value: unknown): Uint8Array {
  const walk: Walk = { out: createByteWriter(), path: [], ancestors: [] };
  writeValue(walk, value, 0);
  return walk.out.bytes.subarray(0, walk.out.used);
}

/** The same as text. */
export function canonicalText(value: unknown): string {
  const bytes = canonicalJson(value);
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
}

interface Walk {
  readonly out: ByteWriter;
  /** `path[d]` is the key or index taken at depth d; entries beyond the current depth are stale. */
  readonly path: (string | number)[];
  readonly ancestors: object[];
}

function writeValue(walk: Walk, value: unknown, depth: number): void {
  switch (typeof value) {
    case 'string':
      if (!writeQuoted(walk.out, value)) throw reject(walk, depth, 'it holds a lone surrogate');
      return;
    case 'number':
      if (!Number.isFinite(value)) throw reject(walk, depth, `it is ${value}`);
      if (isUnsafeInteger(value)) throw reject(walk, depth, 'it is an integer beyond 2^53-1');
      writeNumber(walk.out, value);
      return;
    case 'boolean':
      writeAscii(walk.out, value ? 'true' : 'false');
      return;
    case 'object':
      if (value === null) writeAscii(walk.out, 'null');
      else writeContainer(walk, value, depth);
      return;
    default:
      throw reject(walk, depth, value === undefined ? 'it is undefined' : `it is a ${typeof value}`);
  }
}

/**
 * An integer that stands for its neighbours too. From 1e21 on RFC 8785 writes an exponent, as for any big
 * float (its own test vectors hold 1e+30); below that the digits would claim a precision that is not there.
 */
function isUnsafeInteger(value: number): boolean {
  const size = Math.abs(value);
  return size > Number.MAX_SAFE_INTEGER && size < 1e21;
}

function writeContainer(walk: Walk, value: object, depth: number): void {
  if (depth === MAX_DEPTH) throw rejectDepth(walk, value);
  walk.ancestors[depth] = value;
  if (Array.isArray(value)) writeArray(walk, value, depth);
  else writeObject(walk, value, depth);
}

function writeArray(walk: Walk, array: readonly unknown[], depth: number): void {
  if (Object.getPrototypeOf(array) !== Array.prototype) throw reject(walk, depth, 'it is not a plain array');
  if (Object.getOwnPropertySymbols(array).length > 0) throw reject(walk, depth, 'it has a symbol as a key');
  const { length } = array;
  writeByte(walk.out, 91);
  for (let i = 0; i < length; i++) {
    walk.path[depth] = i;
    // A quarter of the cost of a descriptor, for an index. A setter alone reads as undefined: refused as that.
    if (lookupGetter.call(array, i) !== undefined) throw reject(walk, depth + 1, 'it is an accessor');
    const element = array[i];
    if (element === undefined && !Object.hasOwn(array, i))
      throw reject(walk, depth + 1, 'it is a hole in an array');
    if (i > 0) writeByte(walk.out, 44);
    writeValue(walk, element, depth + 1);
  }
  writeByte(walk.out, 93);
  // Without holes and accessors, this counts extra properties at 2 ns an element (Object.keys: 8, Reflect.ownKeys: 46).
  if (Object.values(array).length !== length)
    throw reject(walk, depth, 'it is an array with extra properties');
}

function writeObject(walk: Walk, object: object, depth: number): void {
  const proto: unknown = Object.getPrototypeOf(object);
  if (proto !== Object.prototype && proto !== null) throw reject(walk, depth, 'it is not a plain object');
  if (Object.getOwnPropertySymbols(object).length > 0) throw reject(walk, depth, 'it has a symbol as a key');
  const keys = sortKeys(Object.keys(object));
  writeByte(walk.out, 123);
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i]!;
    walk.path[depth] = key;
    const property = Object.getOwnPropertyDescriptor(object, key);
    if (property?.get !== undefined) throw reject(walk, depth + 1, 'it is an accessor');
    if (i > 0) writeByte(walk.out, 44);
    if (!writeQuoted(walk.out, key)) throw reject(walk, depth + 1, 'its key holds a lone surrogate');
    writeByte(walk.out, 58);
    writeValue(walk, property?.value, depth + 1);
  }
  writeByte(walk.out, 125);
}

/** By UTF-16 code units, which is how `<` and the default sort compare. */
function sortKeys(keys: string[]): string[] {
  if (keys.length > 16) return keys.sort();
  for (let i = 1; i < keys.length; i++) {
    const key = keys[i]!;
    let at = i;
    for (; at > 0 && keys[at - 1]! > key; at--) keys[at] = keys[at - 1]!;
    keys[at] = key;
  }
  return keys;
}

const lookupGetter = (Object.prototype as unknown as { __lookupGetter__(key: PropertyKey): unknown })
  .__lookupGetter__;

function reject(walk: Walk, depth: number, fact: string): Rejection {
  const path = jsonPointer(walk.path.slice(0, depth));
  return rejection('input.not_canonical', `Cannot canonicalise the value at "${path}": ${fact}`, path);
}

/** A cycle shows as depth; it is named by the first place that leads back to one of its own ancestors. */
function rejectDepth(walk: Walk, value: object): Rejection {
  const chain = [...walk.ancestors.slice(0, MAX_DEPTH), value];
  const back = chain.findIndex((node, depth) => chain.indexOf(node) < depth);
  if (back !== -1) return reject(walk, back, 'it is a cycle');
  return reject(walk, MAX_DEPTH, `it lies more than ${MAX_DEPTH} levels deep`);
}

interface ByteWriter {
  bytes: Buffer;
  used: number;
}

function createByteWriter(): ByteWriter {
  // 2 KiB comes out of Node's pool, which costs a tenth of a fresh allocation.
  return { bytes: Buffer.allocUnsafe(2048), used: 0 };
}

function writeByte(out: ByteWriter, byte: number): void {
  if (out.used === out.bytes.length) reserve(out, 1);
  out.bytes[out.used++] = byte;
}

function writeAscii(out: ByteWriter, text: string): void {
  reserve(out, text.length);
  const { bytes } = out;
  let at = out.used;
  for (let i = 0; i < text.length; i++) bytes[at++] = text.charCodeAt(i);
  out.used = at;
}

/** A JSON string as RFC 8785 wants it. False, and nothing written, where the text holds a lone surrogate. */
function writeQuoted(out: ByteWriter, text: string): boolean {
  if (text.length <= LOOPED && writePlain(out, text)) return true;
  if (!text.isWellFormed()) return false;
  const quoted = JSON.stringify(text);
  const room = out.bytes.length - out.used;
  if (room < quoted.length * 3) reserve(out, Buffer.byteLength(quoted));
  out.used += out.bytes.write(quoted, out.used);
  return true;
}

/** A finite number, in ECMAScript's (and so RFC 8785's) notation. */
function writeNumber(out: ByteWriter, value: number): void {
  if (value > 999_999_999 || value < 0 || (value | 0) !== value) {
    writeAscii(out, `${value}`);
    return;
  }
  let digits = 1;
  for (let bound = 10; bound <= value; bound *= 10) digits++;
  reserve(out, digits);
  let rest = value | 0;
  for (let at = out.used + digits - 1; at >= out.used; at--) {
    const tens = (rest / 10) | 0;
    out.bytes[at] = 48 + rest - tens * 10;
    rest = tens;
  }
  out.used += digits;
}

/** Up to this length a loop over the characters beats the calls into native code. */
const LOOPED = 64;

/** Writes a text of plain ASCII and says whether it was one; otherwise leaves `out` as it was. */
function writePlain(out: ByteWriter, text: string): boolean {
  reserve(out, text.length + 2);
  const { bytes } = out;
  let at = out.used;
  bytes[at++] = 34;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code < 32 || code > 127 || code === 34 || code === 92) return false;
    bytes[at++] = code;
  }
  bytes[at++] = 34;
  out.used = at;
  return true;
}

function reserve(out: ByteWriter, more: number): void {
  const need = out.used + more;
  if (need <= out.bytes.length) return;
  // The slack is for what closes a big value: without it the last brace would double the buffer once more.
  const grown = Buffer.allocUnsafeSlow(Math.max(out.bytes.length * 2, need + 1024));
  out.bytes.copy(grown, 0, 0, out.used);
  out.bytes = grown;
}

/** Whether more than `most` arrays and objects lie inside each other. */
export function isNestedDeeper(value: unknown, most: number = MAX_DEPTH): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (most === 0) return true;
  const parts: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
  for (const part of parts) if (isNestedDeeper(part, most - 1)) return true;
  return false;
}
