// Owns: `file_line_count`: how many lines a file has.
// Refuses: files over 16 MiB, which it would have to hold whole.
import { defineBuiltin } from '../../src/contract/tool.ts';
import { path, reads, record } from '../../src/tools/fs/arguments.ts';

export const fileLineCount = defineBuiltin<{ readonly path: string }, { readonly lines: number }>({
  id: 'file_line_count',
  title: 'Count lines',
  description: 'Counts the lines of a file. To read them use file_read.',
  tags: ['filesystem', 'read'],
  input: record({ path: path('The file.') }, ['path']),
  output: record({ lines: { type: 'integer', description: 'Line feeds in the file.' } }, ['lines']),
  examples: [{ title: 'One file', args: { path: 'README.md' } }],
  effects: (args, site) => [reads(site, args.path)],
  async run(args, ctx) {
    const { bytes } = await ctx.fs.read(args.path, { maxBytes: 16 * 1024 * 1024 });
    return { lines: bytes.reduce((lines, byte) => (byte === 10 ? lines + 1 : lines), 0) };
  },
});
