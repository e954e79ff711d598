import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { loadedByNode, readCommandCode } from './command-code.ts';

describe('readCommandCode', () => {
  const COMMANDS: readonly (readonly [command: string, script: string | undefined, loaded?: string])[] = [
    ['node lib/hub.mjs a.json', 'lib/hub.mjs'],
    ['node --import ./pre.mjs lib/hub.mjs', 'lib/hub.mjs', './pre.mjs'],
    ['node --import=./pre.mjs lib/hub.mjs', 'lib/hub.mjs', './pre.mjs'],
    ['node -r ./pre.cjs lib/hub.mjs', 'lib/hub.mjs', './pre.cjs'],
    ['node --disable-warning x -- lib/hub.mjs', 'lib/hub.mjs'],
    ['node -e 1 x.mjs', undefined],
    ['node -e 1 -r ./pre.cjs', undefined, './pre.cjs'],
    ['/opt/bin/python3.12 -W ignore -u srv/hub.py', 'srv/hub.py'],
    ['python3 -Im hub x.py', undefined],
    ['python3 -uc 1', undefined],
    ['bash -o pipefail run.sh', 'run.sh'],
    ['bash -lc run.sh', undefined],
    ['env -u A B=1 nice -n 5 node lib/hub.mjs', 'lib/hub.mjs'],
    ['deno run -A x.ts', 'x.ts'],
    ['ruby -r./a.rb b.rb', 'b.rb', './a.rb'],
    ['something --db data.db srv/x.py', 'srv/x.py'],
    ['env', undefined],
  ];
  for (const [command, script, loaded] of COMMANDS)
    it(`finds the code of ${command}`, () => {
      const found = readCommandCode(command.split(' ') as [string, ...string[]]);
      assert.deepEqual([found.scripts[0], found.loaded[0]], [script, loaded]);
    });

  it('finds what NODE_OPTIONS loads', () => {
    assert.deepEqual(loadedByNode('--no-warnings --import ./a.mjs --require="./b.cjs"'), [
      './a.mjs',
      './b.cjs',
    ]);
  });
});
