// Owns: reading some lines or bytes of a file of any size, in pieces, and finding where lines begin and end in them.
// Refuses: to hold a large file in memory, and to answer with more than `max_bytes`.
import { createSha256, sha256Hex } from '../../base/digest.ts';
import type { ToolContext } from '../../contract/capability.ts';
import { fail } from '../../contract/errors.ts';
import { type AskedEncoding, type TextContent, toContent } from './text-content.ts';

export interface RangeArgs {
  readonly start_line?: number;
  readonly end_line?: number;
  readonly start_byte?: number;
  readonly end_byte?: number;
}

export interface RangeData {
  readonly start_line: number;
  readonly end_line: number;
  readonly total_lines: number;
  readonly start_byte: number;
  readonly end_byte: number;
  readonly truncated: boolean;
}

export interface FileReadArgs extends RangeArgs {
  readonly path: string;
  readonly max_bytes: number;
  readonly encoding: AskedEncoding;
}

export interface FileReadData extends TextContent, Partial<RangeData> {
  readonly size: number;
  readonly sha256?: string;
}

/** Up to here a range costs a pass over the whole file, so that its hash and its number of lines are known. */
const WHOLE_PASS = 64 * 1024 * 1024;
const PIECE = 1024 * 1024;

function hasLines(args: RangeArgs): boolean {
  return args.start_line !== undefined || args.end_line !== undefined;
}

export async function readRange(args: FileReadArgs, ctx: ToolContext): Promise<FileReadData> {
  if (hasLines(args) && (args.start_byte !== undefined || args.end_byte !== undefined)) {
    throw fail('input.range', `Cannot read "${args.path}": give lines or bytes, not both`);
  }
  const { path } = args;
  const first = await ctx.fs.read(path, { range: { start: 0, end: PIECE } });
  const file: OpenFile = { path, ctx, first: first.bytes, size: first.size };
  return hasLines(args) ? readLines(args, file) : readBytes(args, file);
}

/** A file as it was at the first look: what is added meanwhile does not count. */
interface OpenFile {
  readonly path: string;
  readonly ctx: ToolContext;
  readonly first: Uint8Array;
  readonly size: number;
}

async function readBytes(args: FileReadArgs, file: OpenFile): Promise<FileReadData> {
  const { size } = file;
  const start = args.start_byte ?? 0;
  const asked = Math.min(args.end_byte ?? size, size);
  if (start > size || (args.end_byte !== undefined && args.end_byte < start)) {
    const wanted = `bytes ${start} to ${args.end_byte ?? 'the end'}`;
    throw fail('input.range', `Cannot read "${args.path}": ${wanted} lie outside of its ${size} bytes`, {
      size,
    });
  }
  const hash = size <= WHOLE_PASS ? await passOver(file, () => true) : undefined;
  const bytes = await slice(file, start, Math.min(asked, start + args.max_bytes));
  const cut = start + bytes.length < asked;
  const kept = cut ? wholeCharacters(bytes) : bytes;
  const end = start + kept.length;
  if (cut) warnCut(file, `bytes ${start} to ${end} of ${start} to ${asked}`, `start_byte ${end}`);
  return {
    ...toContent(kept, args.encoding, args.path),
    size,
    ...(hash === undefined ? {} : { sha256: hash }),
    start_byte: start,
    end_byte: end,
    truncated: cut,
  };
}

async function readLines(args: FileReadArgs, file: OpenFile): Promise<FileReadData> {
  const wanted = { first: args.start_line ?? 1, last: args.end_line ?? Number.POSITIVE_INFINITY };
  if (wanted.last < wanted.first) {
    throw fail('input.range', `Cannot read "${args.path}": end_line ${wanted.last} is before start_line`);
  }
  const lines = lineSpan(wanted, args.max_bytes);
  const whole = file.size <= WHOLE_PASS;
  const hash = await passOver(file, (piece) => lines.add(piece) || whole);
  const span = lines.end();
  if (wanted.first > Math.max(span.total, 1)) {
    const fact = `start_line ${wanted.first} is beyond its ${span.total} lines`;
    throw fail('input.range', `Cannot read "${args.path}": ${fact}`, { total_lines: span.total });
  }
  const bytes = await slice(file, span.start, span.end);
  const kept = span.cutInLine ? wholeCharacters(bytes) : bytes;
  const end = span.start + kept.length;
  if (span.truncated) warnCut(file, describeLines(wanted.first, span), nextStep(span, end));
  return {
    ...toContent(kept, args.encoding, args.path),
    size: file.size,
    ...(whole ? { sha256: hash } : {}),
    start_line: wanted.first,
    end_line: span.lastLine,
    ...(whole ? { total_lines: span.total } : {}),
    start_byte: span.start,
    end_byte: end,
    truncated: span.truncated,
  };
}

/** Shows the file to `visit`, piece by piece, until that answers false. Answers the hash of what was shown. */
async function passOver(file: OpenFile, visit: (piece: Uint8Array) => boolean): Promise<string> {
  if (file.size <= file.first.length) {
    visit(file.first);
    return sha256Hex(file.first);
  }
  const hash = createSha256();
  for (let at = 0; at < file.size; at += PIECE) {
    const piece = await slice(file, at, Math.min(at + PIECE, file.size));
    hash.update(piece);
    if (!visit(piece)) break;
  }
  return hash.hex();
}

async function slice(file: OpenFile, start: number, end: number): Promise<Uint8Array> {
  if (end <= file.first.length) return file.first.subarray(start, end);
  file.ctx.signal.throwIfAborted();
  const { bytes } = await file.ctx.fs.read(file.path, { range: { start, end } });
  if (bytes.length === end - start) return bytes;
  throw fail('path.raced', `Cannot read "${file.path}": it became shorter while it was read`);
}

/** Leaves off the beginning of a character that a cut went through. */
function wholeCharacters(bytes: Uint8Array): Uint8Array {
  let lead = bytes.length - 1;
  while (lead >= 0 && lead > bytes.length - 4 && (bytes[lead]! & 0xc0) === 0x80) lead--;
  const byte = bytes[lead] ?? 0;
  const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
  return lead >= 0 && lead + length > bytes.length ? bytes.subarray(0, lead) : bytes;
}

function warnCut(file: OpenFile, what: string, next: string): void {
  const message = `Returned ${what} of "${file.path}", as max_bytes allows; read on with ${next}`;
  file.ctx.warn({ reason: 'content.truncated', message });
}

function describeLines(first: number, span: LineSpan): string {
  return span.cutInLine ? `a part of line ${span.lastLine}` : `lines ${first} to ${span.lastLine}`;
}

function nextStep(span: LineSpan, end: number): string {
  return span.cutInLine ? `start_byte ${end}` : `start_line ${span.lastLine + 1}`;
}

interface LineSpan {
  /** Byte offsets of the lines, at most the allowed number of bytes apart. */
  readonly start: number;
  readonly end: number;
  /** The last line that has a byte between them; the line before the first where there is none. */
  readonly lastLine: number;
  readonly truncated: boolean;
  /** The allowed bytes end inside of the first line. */
  readonly cutInLine: boolean;
  /** Lines of all that was added. */
  readonly total: number;
}

interface LineCounter {
  /** False when the lines are found, and only `total` would change. */
  add(piece: Uint8Array): boolean;
  end(): LineSpan;
}

/** Where lines `first` to `last` (from 1, both included) lie, cut to `maxBytes` at a line's end where one fits. */
export function lineSpan(wanted: { first: number; last: number }, maxBytes: number): LineCounter {
  let offset = 0;
  let line = 1;
  let lineStart = 0;
  let start = wanted.first === 1 ? 0 : -1;
  let end = -1;
  // The last line's end that still fits, and which line that was.
  let fitEnd = -1;
  let fitLine = wanted.first - 1;

  const endLine = (at: number) => {
    if (line >= wanted.first && line <= wanted.last && at - start <= maxBytes) [fitEnd, fitLine] = [at, line];
    if (line === wanted.last) end = at;
    line++;
    lineStart = at;
    if (line === wanted.first) start = at;
  };

  return {
    add(piece) {
      for (let at = piece.indexOf(10); at >= 0; at = piece.indexOf(10, at + 1)) endLine(offset + at + 1);
      offset += piece.length;
      return end < 0 && (start < 0 || offset - start <= maxBytes);
    },
    end() {
      if (lineStart < offset) endLine(offset);
      const total = line - 1;
      if (start < 0 || start >= offset) {
        return {
          start: offset,
          end: offset,
          lastLine: wanted.first - 1,
          truncated: false,
          cutInLine: false,
          total,
        };
      }
      const whole = end < 0 ? offset : end;
      if (whole - start <= maxBytes) {
        const lastLine = Math.min(wanted.last, total);
        return { start, end: whole, lastLine, truncated: false, cutInLine: false, total };
      }
      if (fitEnd > start) {
        return { start, end: fitEnd, lastLine: fitLine, truncated: true, cutInLine: false, total };
      }
      const cut = { start, end: start + maxBytes, truncated: true, cutInLine: true, total };
      return { ...cut, lastLine: maxBytes > 0 ? wanted.first : wanted.first - 1 };
    },
  };
}
