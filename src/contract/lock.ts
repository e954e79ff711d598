// Owns: what `haft.lock` holds: every tool of every pack as a person accepted it, and how what is there now differs.
// Refuses: tools that come with Haft itself; its own version pins those.
import type { Json, JsonObject } from './json.ts';
import type { ToolPins } from './manifest.ts';

/** The file, as JSON. Committed by the user. */
export interface LockFile {
  readonly version: 1;
  readonly packs: { readonly [name: string]: LockedPack };
  readonly tools: { readonly [id: string]: LockedTool };
}

export interface LockedPack {
  /** How it is reached: `path`, `mcp`, `stdio`, … */
  readonly origin: string;
  /** Digest of what `haft.yaml` configures it with. The values themselves stay there. */
  readonly config: string;
  /** Every file that its code is made of, with its SHA-256. Those of a `node_modules` are one, whose name ends with `/`. */
  readonly files?: { readonly [path: string]: string };
}

export interface LockedTool extends ToolPins {
  readonly pack: string;
  /** `toolpack/v1` digest over the definition and all pins: what is compared. */
  readonly digest: string;
  /** The loader's own digest, where it has one: where it is equal, nothing else need be looked at. */
  readonly source?: string;
  /** All that callers are told, and how the tool is reached, without what differs between two machines. */
  readonly definition: JsonObject;
}

/** Something that tools of a pack run and that no digest covers. */
export interface Unpinned {
  /** Such as `uvx`, or `what lies beside hub.mjs`. */
  readonly what: string;
  readonly why: string;
}

/**
 * `changed`: not what was accepted. `added`: new in a pack that was accepted. `removed`: gone. `unlocked`: of a pack that
 * nobody locked yet; it was put into `haft.yaml` by a person and is callable.
 */
export type DriftState = 'changed' | 'added' | 'removed' | 'unlocked';

/** A tool, or with `tool` absent a pack, that is not as `haft.lock` has it. */
export interface Drift {
  readonly pack: string;
  readonly tool?: string;
  readonly state: DriftState;
  /** Of what changed, field by field. */
  readonly changes: readonly FieldChange[];
}

export interface FieldChange {
  /** Such as `description` or `input.properties.path.type`. */
  readonly field: string;
  /** Undefined where it was not there. */
  readonly before: Json | undefined;
  readonly after: Json | undefined;
}
