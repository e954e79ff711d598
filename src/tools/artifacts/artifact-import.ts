// Owns: `artifact_import`: bytes, a file or a folder become an artifact.
// Refuses: paths that the call may not read, and a tree of which it may not read everything.
import { fail } from '../../contract/errors.ts';
import { defineBuiltin } from '../../contract/tool.ts';
import { path, readsTree, record } from '../fs/arguments.ts';
import { fromContent } from '../fs/text-content.ts';
import { ARTIFACT_FIELDS, type ArtifactFields, fieldsOf, LIMITS } from './arguments.ts';

export interface ArtifactImportArgs {
  readonly path?: string;
  readonly content?: string;
  readonly encoding: 'utf8' | 'base64';
}

export interface ArtifactImportData extends ArtifactFields {
  readonly files: number;
}

export const artifactImport = defineBuiltin<ArtifactImportArgs, ArtifactImportData>({
  id: 'artifact_import',
  title: 'Import an artifact',
  description:
    'Store a file, a folder or given content as an immutable artifact and return its id, to use as input of runs. A folder that contains links is refused.',
  tags: ['artifacts', 'write'],
  limits: { ...LIMITS, maxInputBytes: 16 * 1024 * 1024 },
  input: () =>
    record(
      {
        path: path('File or folder to store.'),
        content: { type: 'string', description: 'Instead of path.' },
        encoding: {
          enum: ['utf8', 'base64'],
          default: 'utf8',
          description: 'Of content.',
        },
      },
      [],
    ),
  output: () =>
    record({ ...ARTIFACT_FIELDS, files: { type: 'integer' } }, ['artifact', 'kind', 'size', 'files']),
  examples: [
    { title: 'A file', args: { path: 'data/reads.fastq' } },
    { title: 'A text', args: { content: 'a,b\n1,2\n' } },
  ],
  effects: (args, site) => {
    if ((args.path === undefined) === (args.content === undefined))
      throw fail('input.schema', 'Cannot call "artifact_import": it takes either path or content');
    const reading = args.path === undefined ? [] : [readsTree(site, args.path)];
    return [...reading, { kind: 'artifact.import' }];
  },
  async run({ path: source, content = '', encoding }, ctx) {
    const artifact =
      source === undefined
        ? await ctx.artifacts.importBytes(fromContent(content, encoding, 'content'))
        : await ctx.artifacts.importPath(source);
    ctx.testify({ artifact: artifact.id });
    return { ...fieldsOf(artifact), files: artifact.files };
  },
});
