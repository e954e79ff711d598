// Owns: what a pack is before it is tools: its origin, its tools' contracts, how they are reached, its health.
// Refuses: transports. `binding.adapter` names one; only that adapter understands `binding.target`.
import type { Diagnostic } from './diagnostic.ts';
import type { JsonObject } from './json.ts';
import type { HealthReport, ToolContract } from './tool.ts';

export type { HealthReport, HealthStatus } from './tool.ts';

export interface BoundTool {
  readonly contract: ToolContract;
  readonly binding: Binding;
  readonly pins?: ToolPins;
}

/** The bytes that a tool runs, where its loader knows them: what `haft.lock` holds beside its definition. */
export interface ToolPins {
  /** Files of the pack, by path, with their SHA-256; null where nothing is there. */
  readonly files?: { readonly [path: string]: string | null };
  /** Of the folder that its code lies in, with all that is in there: what runs is a copy of exactly that. */
  readonly code?: string;
  /** A container image, by digest. */
  readonly image?: string;
  /** SHA-256 of a native library. */
  readonly library?: string;
}

export interface Binding {
  /** inprocess, process, http, stdio, mcp or native; the name of an installed adapter. */
  readonly adapter: string;
  readonly target: JsonObject;
}

/** A pack as this host knows it. */
export interface Installation {
  readonly name: string;
  readonly origin: string;
  readonly digest: string;
  readonly config: JsonObject;
  readonly enabled: boolean;
  readonly health: HealthReport;
}

/** What every loader answers: all that is good, and all that is wrong. */
export interface LoadResult<T> {
  readonly value: T | undefined;
  readonly diagnostics: readonly Diagnostic[];
}
