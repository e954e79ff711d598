// Owns: `artifact_get`: the verified content of an artifact, whole or in part, or what is in a tree.
// Refuses: to cut anything silently, and objects that are no artifacts.
import type { ToolContext } from '../../contract/capability.ts';
import type { ObjectId } from '../../contract/object-store.ts';
import { defineBuiltin } from '../../contract/tool.ts';
import { contentProperties, count, POSITION, record } from '../fs/arguments.ts';
import { type AskedEncoding, isText, toContent } from '../fs/text-content.ts';
import {
  ARTIFACT_FIELDS,
  ARTIFACT_ID,
  type ArtifactFields,
  fieldsOf,
  LIMITS,
  PATH_IN_TREE,
  wholeCharacters,
} from './arguments.ts';

export interface ArtifactGetArgs {
  readonly artifact: ObjectId;
  readonly path?: string;
  readonly start_byte?: number;
  readonly end_byte?: number;
  readonly max_bytes: number;
  readonly encoding: AskedEncoding;
}

export interface ArtifactGetData extends ArtifactFields {
  readonly content?: string;
  readonly encoding?: 'utf-8' | 'base64';
  readonly start_byte?: number;
  readonly end_byte?: number;
  readonly entries?: readonly object[];
  readonly truncated: boolean;
}

const MAX_ENTRIES = 10_000;

export const artifactGet = defineBuiltin<ArtifactGetArgs, ArtifactGetData>({
  id: 'artifact_get',
  title: 'Read an artifact',
  textField: 'content',
  description:
    'Read a stored artifact: output that was too long to return, or a file that a run made. ' +
    'A tree answers with its entries; pass path for one file. Continue cut content with start_byte.',
  tags: ['artifacts', 'read'],
  limits: LIMITS,
  input: () =>
    record(
      {
        artifact: ARTIFACT_ID,
        path: PATH_IN_TREE,
        start_byte: count(0, POSITION, 'First byte, from 0.'),
        end_byte: count(0, POSITION, 'End byte, excluded.'),
        ...contentProperties(1),
      },
      ['artifact'],
    ),
  output: () =>
    record(
      {
        ...ARTIFACT_FIELDS,
        content: { type: 'string' },
        encoding: { enum: ['utf-8', 'base64'] },
        start_byte: { type: 'integer' },
        end_byte: { type: 'integer', description: 'Where content ends; read on from here.' },
        entries: {
          type: 'array',
          items: record(
            {
              path: { type: 'string' },
              type: { enum: ['file', 'dir'] },
              size: { type: 'integer' },
              sha256: { type: 'string' },
              executable: { type: 'boolean' },
            },
            ['path', 'type'],
          ),
        },
        truncated: { type: 'boolean' },
      },
      ['artifact', 'kind', 'size', 'truncated'],
    ),
  examples: [
    { title: 'The first kilobyte', args: { artifact: `sha256:${'0'.repeat(64)}`, end_byte: 1024 } },
    { title: 'A file of a tree', args: { artifact: `sha256:${'0'.repeat(64)}`, path: 'src/main.rs' } },
  ],
  effects: ({ artifact }) => [{ kind: 'artifact.read', artifact }],
  async run(args, ctx) {
    const artifact = await ctx.artifacts.get(args.artifact);
    if (artifact.kind === 'tree' && args.path === undefined) {
      const entries = await ctx.artifacts.entries(artifact.id);
      const truncated = entries.length > MAX_ENTRIES;
      if (truncated) warnCut(ctx, `Listed only the first ${MAX_ENTRIES} of ${entries.length} entries`);
      return { ...fieldsOf(artifact), entries: entries.slice(0, MAX_ENTRIES), truncated };
    }
    return { ...fieldsOf(artifact), ...(await content(args, ctx)) };
  },
});

async function content(args: ArtifactGetArgs, ctx: ToolContext) {
  const { artifact, path, start_byte: start = 0, end_byte: end = POSITION, max_bytes: most } = args;
  const part = { start, end: Math.min(end, start + most), ...(path === undefined ? {} : { path }) };
  const { bytes, size } = await ctx.artifacts.read(artifact, part);
  const truncated = Math.min(end, size) > start + most;
  // A character that was cut in two would make all of it look like something else than text.
  const whole = truncated && isText(wholeCharacters(bytes)) ? wholeCharacters(bytes) : bytes;
  const endByte = start + whole.length;
  if (truncated) warnCut(ctx, `Answered bytes ${start} to ${endByte} of ${size}; read on with start_byte`);
  return {
    ...toContent(whole, args.encoding, path ?? artifact),
    size,
    start_byte: start,
    end_byte: endByte,
    truncated,
  };
}

function warnCut(ctx: ToolContext, message: string): void {
  ctx.warn({ reason: 'content.truncated', message });
}
