import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { readKeyValues } from './key-values.ts';

const folder = mkdtempSync(join(tmpdir(), 'haft-words-'));
after(() => rmSync(folder, { recursive: true }));
const text = join(folder, 'text.txt');
writeFileSync(text, 'a\nb\n');
writeFileSync(join(folder, 'list.json'), '[1,2]');
writeFileSync(join(folder, 'bytes'), Buffer.from([0xff, 0xfe]));

const INPUT = {
  type: 'object',
  properties: {
    path: { type: 'string' },
    count: { type: 'integer' },
    ratio: { type: 'number' },
    deep: { type: 'boolean' },
    mode: { enum: ['fast', 2] },
    stdin: { type: ['string', 'null'] },
    tags: { type: 'array', items: { type: 'string' } },
    sizes: { type: 'array', items: { type: 'integer' } },
    env: { type: 'object', additionalProperties: { type: 'string' } },
    where: { type: 'object', properties: { line: { type: 'integer' } }, additionalProperties: false },
    'a.b': { type: 'string' },
    any: {},
  },
  additionalProperties: false,
} as const;

const read = (...words: string[]) => readKeyValues(words, 'some_tool', INPUT);

describe('readKeyValues', () => {
  const READ: readonly (readonly [words: readonly string[], args: object])[] = [
    [['path=README.md'], { path: 'README.md' }],
    [['path='], { path: '' }],
    [['path=a=b'], { path: 'a=b' }],
    [['path=7'], { path: '7' }],
    [['path=a\nb'], { path: 'a\nb' }],
    [['count=7'], { count: 7 }],
    [['count=-7'], { count: -7 }],
    [['ratio=.5'], { ratio: 0.5 }],
    [['ratio=1e3'], { ratio: 1000 }],
    [['deep=true'], { deep: true }],
    [['deep=false'], { deep: false }],
    [['mode=2'], { mode: 2 }],
    [['mode=fast'], { mode: 'fast' }],
    [['stdin=null'], { stdin: 'null' }],
    [['stdin:=null'], { stdin: null }],
    [['tags=a'], { tags: ['a'] }],
    [['tags=a', 'tags=b'], { tags: ['a', 'b'] }],
    [['tags=["a","b"]', 'tags=c'], { tags: ['a', 'b', 'c'] }],
    [['sizes=1', 'sizes=2'], { sizes: [1, 2] }],
    [[`sizes:=@${folder}/list.json`], { sizes: [1, 2] }],
    [['env.CI=1', 'env.HOME=x'], { env: { CI: '1', HOME: 'x' } }],
    [['env={"CI":"1"}'], { env: { CI: '1' } }],
    [['where.line=3'], { where: { line: 3 } }],
    [['a.b=x'], { 'a.b': 'x' }],
    [['any=7'], { any: '7' }],
    [['any:=7'], { any: 7 }],
    [[`path=@${text}`], { path: 'a\nb\n' }],
    [['path:="@home"'], { path: '@home' }],
  ];
  for (const [words, args] of READ)
    it(`reads ${JSON.stringify(words)}`, async () => assert.deepEqual(await read(...words), args));

  const REFUSED: readonly (readonly [words: readonly string[], says: RegExp])[] = [
    [['pth=a'], /some_tool has no such argument; did you mean "path"\?/],
    [['file=a'], /did you mean "path"\?/],
    [['zzz=a'], /it takes path, count, ratio/],
    [['README.md'], /it is not key=value; "haft tools show some_tool" lists/],
    [['=x'], /it is not key=value/],
    [['count=seven'], /"count=seven": it takes a whole number/],
    [['count=1.5'], /it takes a whole number/],
    [['count='], /it takes a whole number/],
    [['count=0x10'], /it takes a whole number/],
    [['count=9007199254740993'], /it takes a whole number/],
    [['sizes=1', 'sizes=b'], /it takes a whole number/],
    [['deep=yes'], /it takes true or false/],
    [['path=a', 'path=b'], /it is given twice/],
    [['env=CI'], /it takes JSON: env:='\{…\}', or env\.KEY=VALUE/],
    [['env.CI=1', 'env={}'], /it is given twice/],
    [['where.column=1'], /"where" has no such field/],
    [['path.x=1'], /"path" has no such field/],
    [['any:={'], /after ":=" comes JSON/],
    [['path=@/no/such/file'], /Cannot read \/no\/such\/file/],
    [[`path=@${folder}/bytes`], /the file is not UTF-8 text/],
  ];
  for (const [words, says] of REFUSED)
    it(`refuses ${JSON.stringify(words)}`, async () => assert.rejects(read(...words), says));

  it('takes __proto__ for a name like any other', async () => {
    const args = await readKeyValues(['__proto__=x', 'env.__proto__=y'], 'open', {
      properties: { env: { type: 'object' } },
    });
    assert.deepEqual(Object.entries(args), [
      ['__proto__', 'x'],
      ['env', Object.fromEntries([['__proto__', 'y']])],
    ]);
    assert.equal(Object.getPrototypeOf(args), Object.prototype);
  });
});
