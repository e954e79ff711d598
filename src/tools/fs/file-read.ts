// Owns: `file_read`, the hot path of every agent.
// Refuses: to cut a file silently: what is over `max_bytes` is refused or, in a range, said to be cut.
import { sha256Hex } from '../../base/digest.ts';
import { once } from '../../base/once.ts';
import type { FileContent } from '../../contract/capability.ts';
import { defineBuiltin } from '../../contract/tool.ts';
import { contentProperties, count, POSITION, path, record, sha256 } from './arguments.ts';
import type { FileReadArgs, FileReadData } from './file-read-range.ts';
import { toContent } from './text-content.ts';

/** Not at the top: a whole file is read without it. */
const loadRange = once(() => import('./file-read-range.ts'));

export const fileRead = defineBuiltin<FileReadArgs, FileReadData>({
  id: 'file_read',
  title: 'Read a file',
  textField: 'content',
  description:
    'Read one file: its text, or base64 if binary. Prefer it to cat in shell_exec. ' +
    'A file over max_bytes is refused: read a range. To search many files use grep, for folders fs_list.',
  tags: ['filesystem', 'read'],
  limits: { timeoutMs: 10_000, maxInputBytes: 64 * 1024, maxOutputBytes: 32 * 1024 * 1024 },
  input: () =>
    record(
      {
        path: path('File to read.'),
        ...contentProperties(0),
        start_line: count(1, POSITION, 'First line, from 1.'),
        end_line: count(1, POSITION, 'Last line, included.'),
        start_byte: count(0, POSITION, 'First byte, from 0.'),
        end_byte: count(0, POSITION, 'End byte, excluded.'),
      },
      ['path'],
    ),
  output: () =>
    record(
      {
        content: { type: 'string' },
        encoding: { enum: ['utf-8', 'base64'] },
        size: { type: 'integer', description: 'Bytes of the whole file.' },
        sha256: sha256('Of the whole file. Absent only for a range of a file over 64 MiB.'),
        start_line: { type: 'integer' },
        end_line: {
          type: 'integer',
          description: 'The last line in content; start_line - 1 for an empty file.',
        },
        total_lines: { type: 'integer', description: 'Absent for a file over 64 MiB.' },
        start_byte: { type: 'integer' },
        end_byte: { type: 'integer', description: 'Where content ends; read on from here.' },
        truncated: { type: 'boolean', description: 'The range held more than max_bytes.' },
      },
      ['content', 'encoding', 'size'],
    ),
  examples: [
    { title: 'A whole file', args: { path: 'src/main.rs' } },
    { title: 'Lines 10 to 20', args: { path: 'src/main.rs', start_line: 10, end_line: 20 } },
  ],
  effects: (args, site) => [{ kind: 'fs.read', path: site.place(args.path) }],
  run(args, ctx) {
    if (isRange(args)) return loadRange().then(({ readRange }) => readRange(args, ctx));
    const file = ctx.fs.read(args.path, { maxBytes: args.max_bytes });
    return file instanceof Promise ? file.then((read) => whole(args, read)) : whole(args, file);
  },
});

function whole(args: FileReadArgs, file: FileContent): FileReadData {
  const { content, encoding } = toContent(file.bytes, args.encoding, args.path);
  return { content, encoding, size: file.size, sha256: sha256Hex(file.bytes) };
}

const isRange = ({ start_line, end_line, start_byte, end_byte }: FileReadArgs): boolean =>
  (start_line ?? end_line ?? start_byte ?? end_byte) !== undefined;
