// Owns: what several file tools share, each described once: arguments and answer fields, effects from the paths in them, and what a
// change could not give back or keep, for its answer and as a warning.
// Refuses: fields of one tool only (those stay in the tool's file), and to look at the disk: whether a path is a folder is not known
// here, so moves and copies name the tree.
import type { Change, Loss, ToolContext } from '../../contract/capability.ts';
import type { Effect } from '../../contract/effect.ts';
import type { JsonSchema } from '../../contract/json.ts';
import type { EffectSite } from '../../contract/tool.ts';

type Properties = { readonly [name: string]: JsonSchema };

/** An object of exactly these properties. */
export function record(properties: Properties, required: readonly string[]): JsonSchema {
  return { type: 'object', properties, required, additionalProperties: false };
}

/** No `maxLength`: a path that is too long is refused as a path (`path.invalid`), like any other that names nothing. */
export const path = (description: string): JsonSchema => ({
  type: 'string',
  minLength: 1,
  description,
});

export const flag = (fallback: boolean, description: string): JsonSchema => ({
  type: 'boolean',
  default: fallback,
  description,
});

export const count = (minimum: number, maximum: number, description: string): JsonSchema => ({
  type: 'integer',
  minimum,
  maximum,
  description,
});

const SHA256: JsonSchema = { type: 'string', pattern: '^[0-9a-f]{64}$' };

export const sha256 = (description: string): JsonSchema => ({ ...(SHA256 as object), description });

/** Of a byte or a line that may be asked for. */
export const POSITION = Number.MAX_SAFE_INTEGER;

/** How much of some content is answered, and as what. */
export const contentProperties = (least: number): Properties => ({
  max_bytes: {
    type: 'integer',
    minimum: least,
    maximum: 16 * 1024 * 1024,
    default: 1024 * 1024,
    description: 'Most bytes.',
  },
  encoding: {
    enum: ['auto', 'utf8', 'base64'],
    default: 'auto',
    description: 'auto: base64 for binary.',
  },
});

/** Of every tool that changes something. */
export interface MutationArgs {
  readonly expected_sha256?: string;
  readonly dry_run: boolean;
  readonly no_undo: boolean;
}

export const MUTATION_PROPERTIES: Properties = {
  expected_sha256: sha256('Refuse if the hash differs.'),
  dry_run: flag(false, 'Only show the changes.'),
  no_undo: flag(false, 'Keep no copy.'),
};

/** What entries could not be given, as an answer lists it. */
export function losses(description: string): JsonSchema {
  return {
    type: 'array',
    description,
    items: record(
      {
        path: { type: 'string' },
        what: { enum: ['owner', 'group', 'set_user_id', 'set_group_id', 'permission_bits'] },
        why: { type: 'string' },
      },
      ['path', 'what', 'why'],
    ),
  };
}

/** One entry of a dry run's answer. */
export interface PlannedChange {
  readonly path: string;
  readonly change: 'create' | 'modify' | 'delete' | 'move';
  readonly from?: string;
  readonly bytes?: number;
}

export interface Preview {
  readonly dry_run: true;
  readonly changes: readonly PlannedChange[];
  /** Absent where content is binary, too large, or a whole tree. */
  readonly diff?: string;
}

/** Answer fields of a dry run. */
export const PREVIEW_PROPERTIES: Properties = {
  dry_run: { const: true },
  changes: {
    type: 'array',
    items: record(
      {
        path: { type: 'string' },
        change: { enum: ['create', 'modify', 'delete', 'move'] },
        from: { type: 'string' },
        bytes: { type: 'integer' },
      },
      ['path', 'change'],
    ),
  },
  diff: {
    type: 'string',
    description: 'A unified diff; absent for binary or very large content and for trees.',
  },
};

export function reads(site: EffectSite, path: string): Effect {
  return { kind: 'fs.read', path: site.place(path) };
}

export function readsTree(site: EffectSite, path: string): Effect {
  return { kind: 'fs.read', path: site.place(path), tree: true };
}

export function writes(site: EffectSite, path: string): Effect {
  return { kind: 'fs.write', path: site.place(path) };
}

export function writesTree(site: EffectSite, path: string): Effect {
  return { kind: 'fs.write', path: site.place(path), tree: true };
}

/** What entries should have and could not be given, with a warning that counts them. */
export function lossesOf(
  ctx: ToolContext,
  changes: readonly Change[],
  verb: 'restored' | 'kept',
): readonly Loss[] {
  const lost = changes.flatMap(({ path, lost = [] }) => lost.map((one) => ({ path, ...one })));
  const [first] = lost;
  if (!first) return [];
  const more = lost.length > 1 ? `, and ${lost.length - 1} more` : '';
  const message = `Not ${verb}: ${first.what.replaceAll('_', ' ')} of "${first.path}" (${first.why})${more}`;
  ctx.warn({ reason: 'file.not_kept', message });
  return lost;
}
