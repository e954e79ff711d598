import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { analyzeShell } from './analyze-shell.ts';
import { codeLine } from './interpreters.ts';

async function lines(cmd: string, input: string): Promise<readonly string[]> {
  const analysis = await analyzeShell(cmd);
  assert.ok(analysis.ok, cmd);
  return analysis.commands.flatMap((command) => codeLine(command, input) ?? []);
}

describe('codeLine', () => {
  it('gives an interpreter its input as a word', async () => {
    const table: readonly [string, string][] = [
      ['python3', "python3 -c 'a b'"],
      ['python3 -', "python3 -c 'a b'"],
      ['/usr/bin/python3.12 -i', "/usr/bin/python3.12 -c 'a b'"],
      ['python3 -W ignore', "python3 -c 'a b'"],
      ['python3 -m code', "python3 -c 'a b'"],
      ['env X=1 timeout 5 node', "node -e 'a b'"],
      ['node /dev/stdin', "node -e 'a b'"],
      ['python3 "$x"', "python3 -c 'a b'"],
      ['uv run python', "uv run python -c 'a b'"],
      ['docker exec -i box sh', "docker exec -i box sh -c 'a b'"],
      ['psql db', "psql -c 'a b'"],
      ['sqlite3 some.db', "sqlite3 -cmd 'a b'"],
      ['cat | ruby', "ruby -e 'a b'"],
      ['php', "php -r 'a b'"],
    ];
    for (const [cmd, line] of table) assert.deepEqual(await lines(cmd, 'a b'), [line], cmd);
  });

  it('takes the input of other programs, and of scripts, for data', async () => {
    for (const cmd of [
      'cat',
      'python3 app.py -i',
      'node server.js',
      'npm run dev',
      'bash run.sh',
      'grep -e x',
    ])
      assert.deepEqual(await lines(cmd, 'a'), [], cmd);
  });

  it('is one line, whatever the input holds', async () => {
    const [line = ''] = await lines('python3', "a'\n$(rm x)\tb\n");
    assert.doesNotMatch(line, /\n/);
    const analysis = await analyzeShell(line);
    assert.ok(analysis.ok);
    assert.deepEqual(analysis.commands[0]?.words, ['python3', '-c', "a'\n$(rm x)\tb\n"]);
  });
});
