// Owns: what is known of one manifest once it was checked: what it depends on, what was said, the tool that it holds.
// Refuses: knowing how it was found out; it may come from the cache.
import type { Diagnostic } from '../../contract/diagnostic.ts';
import type { ToolDefinition } from './build-tool.ts';
import type { FileStamp } from './pack-files.ts';

export interface CheckedFile {
  /** Of the manifest, relative to the pack's folder. */
  readonly path: string;
  /** Absent where it could not be read. */
  readonly stamp?: FileStamp;
  readonly depends?: readonly Dependency[];
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
  /** The canonical JSON of the definition. */
  readonly body: Uint8Array;
  /** The same as a value, where that is at hand. */
  readonly definition?: ToolDefinition;
}
