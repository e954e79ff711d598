// Owns: a program of somebody who installed the package: compiled as strictly as can be, then run. What must not compile is marked so.
// Not here: installing it; ../../installed-package.test.ts does.
import { type CallResult, createRuntime, type ToolCalls } from 'haft';
import { defineTool } from 'haft/toolpack';

declare module 'haft' {
  interface ToolCalls {
    'notes.add': { args: { text: string }; data: { id: number } };
  }
}

declare const console: { log(text: string): void };

const runtime = await createRuntime({ workspace: '.' });

const read = await runtime.call('file_read', { path: 'notes.txt' });
if (!read.ok) throw new Error(read.errors[0]?.message);
const content: string = read.data.content;
// @ts-expect-error: there is no such field
read.data.contents;

const listed = await runtime.call('fs_list');
const names: readonly string[] = listed.ok ? listed.data.files : [];

const byRequest = await runtime.call({ tool: 'grep', args: { pattern: 'one', glob: 'notes.txt' } });
const line: number | undefined = byRequest.ok ? byRequest.data.matches?.[0]?.line : undefined;

// @ts-expect-error: path is required
const missing = await runtime.call('file_read', {});
// @ts-expect-error: there is no argument of that name
const misspelled = await runtime.call('file_read', { path: 'notes.txt', pth: 1 });

const note = await runtime.call('notes.add', { text: 'a' });
const id: number | undefined = note.ok ? note.data.id : undefined;
// @ts-expect-error: text is required
await runtime.call('notes.add', {});

const anyTool = await runtime.call('other.tool', { whatever: 1 });
// @ts-expect-error: nobody said what it answers
() => anyTool.data.id;

await runtime.close();

export type Read = CallResult<ToolCalls['file_read']['data']>;
export const unused = defineTool;

const refused = [missing, misspelled, note, anyTool].map(({ errors }) => errors[0]?.reason);
console.log(JSON.stringify({ content, names, line, id, refused }));
