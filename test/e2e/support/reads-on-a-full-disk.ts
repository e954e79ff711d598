// Owns: a process that reads on while its disk fills up, and says how many of its reads were answered.
// Refuses: to go on for ever where nothing stops it.
import { spawnSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { createRuntime } from '../../../src/index.ts';

const [workspace = '.'] = process.argv.slice(2);
writeFileSync(`${workspace}/a.txt`, 'content');
const runtime = await createRuntime({ workspace });
let answered = 0;
const read = async (): Promise<string | undefined> => {
  const { ok, errors } = await runtime.call({ tool: 'file_read', args: { path: 'a.txt' } });
  if (ok) answered++;
  return errors[0]?.reason;
};

await read();
spawnSync('dd', ['if=/dev/zero', `of=${workspace}/.fill`, 'bs=4k', 'count=1024']);
let refused: string | undefined;
for (let i = 0; i < 20_000 && !refused; i++) refused = await read();
const again = await read();
rmSync(`${workspace}/.fill`);
const after = await read();
await runtime.close();
console.log(JSON.stringify({ answered, refused, again, after: after ?? null }));
