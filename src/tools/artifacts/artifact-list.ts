// Owns: `artifact_list`: which artifacts there are, newest first.
// Refuses: their content; and objects that are no artifacts.
import type { Artifact } from '../../contract/artifacts.ts';
import type { ObjectId } from '../../contract/object-store.ts';
import { defineBuiltin } from '../../contract/tool.ts';
import { record } from '../fs/arguments.ts';
import { ARTIFACT_FIELDS, ARTIFACT_ID, type ArtifactFields, fieldsOf } from './arguments.ts';

export interface ArtifactListArgs {
  readonly limit: number;
  readonly before?: ObjectId;
  readonly kind?: Artifact['kind'];
}

export interface ArtifactListData {
  readonly artifacts: readonly ListedArtifact[];
  readonly truncated: boolean;
}

interface ListedArtifact extends ArtifactFields {
  readonly files: number;
  readonly created: string;
  readonly run_id?: string;
  readonly role?: string;
  readonly type?: string;
  readonly label?: string;
}

export const artifactList = defineBuiltin<ArtifactListArgs, ArtifactListData>({
  id: 'artifact_list',
  title: 'List artifacts',
  description: 'List stored artifacts, newest first, with id, kind and size. Read one with artifact_get.',
  tags: ['artifacts', 'read'],
  limits: { timeoutMs: 600_000, maxInputBytes: 64 * 1024, maxOutputBytes: 4 * 1024 * 1024 },
  input: () =>
    record(
      {
        limit: {
          type: 'integer',
          minimum: 1,
          maximum: 1000,
          default: 50,
          description: 'Most artifacts to return.',
        },
        before: {
          ...(ARTIFACT_ID as object),
          description: 'Only older ones; the last id for the next page.',
        },
        kind: { enum: ['file', 'tree'], description: 'Only this kind.' },
      },
      [],
    ),
  output: () =>
    record(
      {
        artifacts: {
          type: 'array',
          items: record(
            {
              ...ARTIFACT_FIELDS,
              files: { type: 'integer', description: 'How many files a tree has.' },
              created: { type: 'string', description: 'In UTC: 2026-01-31T12:00:00.000Z.' },
              run_id: { type: 'string', description: 'The run that made it, where one did.' },
              role: { type: 'string', description: 'As which output of that run.' },
              type: { type: 'string' },
              label: { type: 'string' },
            },
            ['artifact', 'kind', 'size', 'files', 'created'],
          ),
        },
        truncated: { type: 'boolean' },
      },
      ['artifacts', 'truncated'],
    ),
  examples: [{ title: 'The newest ten', args: { limit: 10 } }],
  effects: () => [{ kind: 'artifact.read', artifact: '*' }],
  async run({ limit, before, kind }, ctx) {
    const found = await ctx.artifacts.list({
      limit: limit + 1,
      ...(before === undefined ? {} : { before }),
      ...(kind === undefined ? {} : { kind }),
    });
    return {
      artifacts: found.slice(0, limit).map((artifact) => ({
        ...fieldsOf(artifact),
        files: artifact.files,
        created: new Date(artifact.createdTs).toISOString(),
        ...linkOf(artifact),
      })),
      truncated: found.length > limit,
    };
  },
});

function linkOf({ madeBy }: Artifact) {
  if (!madeBy) return {};
  const { runId, role, type, label } = madeBy;
  return { run_id: runId, role, type, label };
}
