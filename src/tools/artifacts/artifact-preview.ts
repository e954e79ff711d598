// Owns: `artifact_preview`: how an artifact begins, as text that a reader can look at.
// Refuses: to be a way to read all of it; artifact_get is.
import type { TreeEntry } from '../../base/tree-manifest.ts';
import type { ToolContext } from '../../contract/capability.ts';
import type { ObjectId } from '../../contract/object-store.ts';
import { defineBuiltin } from '../../contract/tool.ts';
import { record } from '../fs/arguments.ts';
import { asBuffer, isText } from '../fs/text-content.ts';
import {
  ARTIFACT_FIELDS,
  ARTIFACT_ID,
  type ArtifactFields,
  fieldsOf,
  LIMITS,
  PATH_IN_TREE,
  wholeCharacters,
} from './arguments.ts';

export interface ArtifactPreviewArgs {
  readonly artifact: ObjectId;
  readonly path?: string;
  readonly lines: number;
}

export interface ArtifactPreviewData extends ArtifactFields {
  readonly looks_like: 'text' | 'binary' | 'tree';
  readonly text: string;
  readonly truncated: boolean;
}

/** Enough for any number of lines that somebody looks at. */
const LOOKED_AT = 64 * 1024;
const HEX_BYTES = 256;

export const artifactPreview = defineBuiltin<ArtifactPreviewArgs, ArtifactPreviewData>({
  id: 'artifact_preview',
  title: 'Preview an artifact',
  textField: 'text',
  description:
    'Show the beginning of an artifact: first lines of text, hex of binary, names in a tree. For all of it use artifact_get.',
  tags: ['artifacts', 'read'],
  limits: LIMITS,
  input: () =>
    record(
      {
        artifact: ARTIFACT_ID,
        path: PATH_IN_TREE,
        lines: {
          type: 'integer',
          minimum: 1,
          maximum: 1000,
          default: 20,
          description: 'Lines to show.',
        },
      },
      ['artifact'],
    ),
  output: () =>
    record(
      {
        ...ARTIFACT_FIELDS,
        looks_like: { enum: ['text', 'binary', 'tree'] },
        text: { type: 'string' },
        truncated: { type: 'boolean', description: 'There is more than is shown.' },
      },
      ['artifact', 'kind', 'size', 'looks_like', 'text', 'truncated'],
    ),
  examples: [{ title: 'The first five lines', args: { artifact: `sha256:${'0'.repeat(64)}`, lines: 5 } }],
  effects: ({ artifact }) => [{ kind: 'artifact.read', artifact }],
  async run(args, ctx) {
    const artifact = await ctx.artifacts.get(args.artifact);
    const shown =
      artifact.kind === 'tree' && args.path === undefined
        ? previewTree(await ctx.artifacts.entries(artifact.id), args.lines)
        : await previewFile(args, ctx);
    return { ...fieldsOf(artifact), ...shown };
  },
});

function previewTree(entries: readonly TreeEntry[], lines: number) {
  const shown = entries.slice(0, lines).map(describe);
  return { looks_like: 'tree' as const, text: shown.join('\n'), truncated: entries.length > lines };
}

function describe(entry: TreeEntry): string {
  if (entry.type === 'dir') return `${entry.path}/`;
  return `${entry.path}${entry.executable ? '*' : ''}  ${entry.size}`;
}

async function previewFile({ artifact, path, lines }: ArtifactPreviewArgs, ctx: ToolContext) {
  const { bytes, size } = await ctx.artifacts.read(artifact, {
    end: LOOKED_AT,
    ...(path === undefined ? {} : { path }),
  });
  const whole = wholeCharacters(bytes);
  if (!isText(bytes.length < size ? whole : bytes)) {
    return { size, looks_like: 'binary' as const, text: hexDump(bytes), truncated: size > HEX_BYTES };
  }
  const all = asBuffer(whole).toString('utf8').split('\n');
  const shown = all.slice(0, lines).join('\n');
  return { size, looks_like: 'text' as const, text: shown, truncated: Buffer.byteLength(shown) < size };
}

/** As `xxd` shows it: place, bytes, characters. */
function hexDump(bytes: Uint8Array): string {
  const rows: string[] = [];
  for (let at = 0; at < Math.min(bytes.length, HEX_BYTES); at += 16) {
    const row = bytes.subarray(at, Math.min(at + 16, HEX_BYTES));
    const hex = asBuffer(row)
      .toString('hex')
      .replaceAll(/(.{4})/g, '$1 ')
      .padEnd(40);
    const text = [...row]
      .map((byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : '.'))
      .join('');
    rows.push(`${at.toString(16).padStart(8, '0')}: ${hex} ${text}`);
  }
  return rows.join('\n');
}
