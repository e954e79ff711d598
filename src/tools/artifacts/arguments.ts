// Owns: the arguments and answer fields that the artifact tools share, each described once.
// Refuses: fields of one tool only; those stay in the tool's file.
import type { Artifact } from '../../contract/artifacts.ts';
import type { JsonSchema } from '../../contract/json.ts';
import type { ObjectId } from '../../contract/object-store.ts';

export const ARTIFACT_ID: JsonSchema = {
  type: 'string',
  pattern: '^sha256:[0-9a-f]{64}$',
  description: 'Artifact id, "sha256:…".',
};

export const PATH_IN_TREE: JsonSchema = {
  type: 'string',
  minLength: 1,
  description: 'A file inside a tree.',
};

/** Reading and hashing takes as long as the disk does. */
export const LIMITS = {
  timeoutMs: 600_000,
  maxInputBytes: 64 * 1024,
  maxOutputBytes: 32 * 1024 * 1024,
} as const;

/** What every answer about one artifact begins with. */
export interface ArtifactFields {
  readonly artifact: ObjectId;
  readonly kind: Artifact['kind'];
  readonly size: number;
}

export const ARTIFACT_FIELDS = {
  artifact: ARTIFACT_ID,
  kind: { enum: ['file', 'tree'] },
  size: { type: 'integer', description: 'Bytes; of a tree those of all its files.' },
} as const;

export const fieldsOf = ({ id, kind, size }: Artifact): ArtifactFields => ({ artifact: id, kind, size });

/** Without the last character where only a part of it is there, so that text which was cut is still text. */
export function wholeCharacters(bytes: Uint8Array): Uint8Array {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back]!;
    if ((byte & 0b1100_0000) === 0b1000_0000) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return length > back ? bytes.subarray(0, bytes.length - back) : bytes;
  }
  return bytes;
}
