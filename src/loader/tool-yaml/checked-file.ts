// Owns: what is known of one manifest once it was checked: what it depends on, what was said, the tool that it holds.
// Refuses: knowing how it was found out; it may come from the cache.
import type { Diagnostic } from '../../contract/diagnostic.ts';
import type { ToolDefinition } from './build-tool.ts';
import type { FileStamp } from './pack-files.ts';

export interface CheckedFile {
  /** Of the manifest, relative to the pack's folder. */
  readonly path: string;
  /** What it was made of; absent where it could not be read. Made on demand: it is needed only to keep it. */
  made?(): { readonly stamp: FileStamp; readonly depends: readonly Dependency[] };
  /** Their files are paths below the pack's folder. */
  readonly diagnostics: readonly Diagnostic[];
  /** Absent where one of the diagnostics is an error. */
  readonly tool?: CheckedTool;
}

/** A file that a tool refers to or runs; null where nothing was there. */
export interface Dependency {
  readonly path: string;
  readonly stamp: FileStamp | null;
}

export interface CheckedTool {
  /** Its own, and then those of its actions. */
  readonly ids: readonly [string, ...string[]];
  readonly digest: string;
  /** Bytes that hold its body, and where. Thousands of bodies share one run of bytes. */
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
}

/** The canonical JSON of its `ToolDefinition`. */
export const bodyOf = ({ bytes, start, end }: CheckedTool): Uint8Array => bytes.subarray(start, end);

export const definitionOf = ({ bytes, start, end }: CheckedTool): ToolDefinition =>
  JSON.parse(bytes.toString('utf8', start, end)) as ToolDefinition;
