import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from '../../../test/support/properties.ts';
import type { ToolContract } from '../../contract/tool.ts';
import type { RankedTool, ToolRanker } from '../../contract/tool-search.ts';
import { toolContract } from '../../contract/tools-for-tests.ts';
import { BUILTIN_TOOLS } from '../../tools/index.ts';
import { createToolSearch } from './create-tool-search.ts';
import { createLexicalRanker, createWordReader, stem } from './lexical-ranker.ts';

const TRACKER: readonly ToolContract[] = [
  toolContract('github.create_issue', {
    description: 'Open a new issue in a repository.',
    tags: ['tracker'],
  }),
  toolContract('github.list_issues', { description: 'List the issues of a repository.', tags: ['tracker'] }),
  toolContract('github.create_pull_request', {
    description: 'Propose the commits of a branch to be merged.',
  }),
  toolContract('slack.post_message', {
    description: 'Write to a channel.',
    input: {
      type: 'object',
      properties: {
        channel: { type: 'string', description: 'Where the announcement appears' },
        thread: { allOf: [{ properties: { broadcast: { type: 'boolean' } } }] },
      },
    },
  }),
  toolContract('weather.forecast', { description: 'Tomorrow: rain, wind and temperature of a place.' }),
];

const ranker = (tools: readonly ToolContract[]): ToolRanker => {
  const made = createLexicalRanker();
  made.sync(tools);
  return made;
};
const ids = (found: readonly RankedTool[] | Promise<readonly RankedTool[]>) =>
  (found as readonly RankedTool[]).map(({ id }) => id);

describe('the lexical ranker', () => {
  const FIRST: readonly (readonly [tools: readonly ToolContract[], query: string, first: string])[] = [
    [BUILTIN_TOOLS, 'read a file', 'file_read'],
    [BUILTIN_TOOLS, 'search for text in files', 'grep'],
    [BUILTIN_TOOLS, 'delete a folder', 'fs_delete'],
    [BUILTIN_TOOLS, 'running a shell command', 'shell_exec'],
    [BUILTIN_TOOLS, 'http request', 'curl'],
    [BUILTIN_TOOLS, 'rename', 'fs_move'],
    [BUILTIN_TOOLS, 'list running processes', 'proc_list'],
    [BUILTIN_TOOLS, 'take back a change', 'undo'],
    [BUILTIN_TOOLS, 'fs_copy', 'fs_copy'],
    [TRACKER, 'list the issues', 'github.list_issues'],
    [TRACKER, 'creating an issue', 'github.create_issue'],
    [TRACKER, 'createPullRequest', 'github.create_pull_request'],
    [TRACKER, 'announcement', 'slack.post_message'],
    [TRACKER, 'broadcast', 'slack.post_message'],
    [TRACKER, 'creat isue', 'github.create_issue'],
    [TRACKER, 'wheather', 'weather.forecast'],
    [TRACKER, 'forec', 'weather.forecast'],
    [TRACKER, 'chanel', 'slack.post_message'],
    [TRACKER, 'ＦＯＲＥＣＡＳＴ', 'weather.forecast'],
  ];
  for (const [tools, query, first] of FIRST) {
    it(`puts ${first} first for "${query}"`, async () => {
      assert.equal((await ranker(tools).rank(query, 5))[0]?.id, first);
    });
  }

  it('finds by tags, and takes an id that is typed whole for meant', () => {
    assert.deepEqual(ids(ranker(TRACKER).rank('tracker', 5)).sort(), [
      'github.create_issue',
      'github.list_issues',
    ]);
    const two = [toolContract('a.b'), toolContract('a.b.c', { title: 'a b a b a b', tags: ['a', 'b'] })];
    assert.equal(ids(ranker(two).rank('A.B', 5))[0], 'a.b');
  });

  it('answers nothing for nothing, and for what nobody has', () => {
    for (const query of ['', '   ', 'the', 'zzzzzz', '!!!', '\0'])
      assert.deepEqual(ranker(TRACKER).rank(query, 5), []);
    assert.deepEqual(ranker([]).rank('file', 5), []);
  });

  it('answers at most as many as are asked for, best first, equal ones by id', () => {
    const same = ['x.c', 'x.a', 'x.b'].map((id) =>
      toolContract(id, { title: 'same', description: 'same words' }),
    );
    assert.deepEqual(ids(ranker(same).rank('words', 2)), ['x.a', 'x.b']);
    const found = ranker(TRACKER).rank('github issue', 10) as readonly RankedTool[];
    assert.deepEqual(
      found.map(({ score }) => score),
      found.map(({ score }) => score).toSorted((a, b) => b - a),
    );
  });

  it('ranks the same whatever was added, changed and removed before', () => {
    const words = ['file', 'read', 'write', 'issue', 'branch', 'search', 'files', 'searching', 'rain'];
    const some = fc.uniqueArray(fc.integer({ min: 0, max: 30 }), { maxLength: 20 });
    const made = Array.from({ length: 31 }, (_, n) =>
      toolContract(`pack.t${n}`, {
        description: words.filter((_, at) => (n >> (at % 5)) & 1).join(' '),
        tags: [words[n % 9]!],
      }),
    );
    fc.assert(
      fc.property(
        fc.array(some, { minLength: 1, maxLength: 6 }),
        fc.constantFrom(...words, 'fil', 'isue'),
        (steps, query) => {
          const kept = createLexicalRanker();
          for (const step of steps) kept.sync(step.map((n) => made[n]!));
          const last = steps.at(-1)!.map((n) => made[n]!);
          assert.deepEqual(kept.rank(query, 10), ranker(last.toReversed()).rank(query, 10));
        },
      ),
    );
  });

  it('follows a tool that is described anew', () => {
    const kept = ranker([toolContract('a.b', { description: 'old words' })]);
    kept.sync([toolContract('a.b', { description: 'new words' })]);
    assert.deepEqual(ids(kept.rank('old', 5)), []);
    assert.deepEqual(ids(kept.rank('new', 5)), ['a.b']);
  });

  it('survives schemas of any kind', () => {
    const anySchema = fc.object({
      maxDepth: 4,
      key: fc.constantFrom('properties', 'items', 'allOf', 'description', 'x'),
    });
    fc.assert(
      fc.property(anySchema, (input) => {
        ranker([toolContract('a.b', { input: input as never, output: input as never })]).rank('x', 1);
      }),
    );
  });
});

describe('createToolSearch', () => {
  const fixed = (order: readonly string[]): ToolRanker => ({
    name: 'fixed',
    sync: () => {},
    rank: async (_query, limit) => order.slice(0, limit).map((id, at) => ({ id, score: -at })),
  });

  it('with one ranker answers what that one answers', async () => {
    const search = createToolSearch([createLexicalRanker()]);
    await search.sync(TRACKER);
    assert.deepEqual(await search.search('issue', 3), ranker(TRACKER).rank('issue', 3));
  });

  it('with several counts places, so that what two put in front comes first', async () => {
    const search = createToolSearch([fixed(['a', 'b', 'c']), fixed(['d', 'b', 'a'])]);
    assert.deepEqual(
      (await search.search('x', 3)).map(({ id }) => id),
      ['a', 'b', 'd'],
    );
  });
});

const wordsOf = createWordReader();

describe('the words of a text', () => {
  const ROWS: readonly (readonly [text: string, words: string])[] = [
    ['create_pull_request', 'creat pull request'],
    ['createPullRequest', 'creat pull request'],
    ['github.create-pull.request', 'github creat pull request'],
    ['parseHTTPUrl2', 'pars http url 2'],
    ['Search the files for a pattern', 'search file pattern'],
    ['Grüße, Crème brûlée!', 'gruß crem brule'],
    ['データ base64', 'データ base 64'],
    ['', ''],
    ['the of and', ''],
  ];
  for (const [text, words] of ROWS) {
    it(`of "${text}" are "${words}"`, () => assert.equal(wordsOf(text).join(' '), words));
  }

  it('are the same for the forms of a word', () => {
    for (const forms of [
      ['create', 'creates', 'created', 'creating'],
      ['search', 'searches', 'searched', 'searching'],
      ['repository', 'repositories'],
      ['file', 'files'],
      ['run', 'runs'],
      ['delete', 'deletes', 'deleted', 'deleting'],
      ['commit', 'commits', 'committed', 'committing'],
      ['status'],
      ['process', 'processed', 'processing'],
    ])
      assert.equal(new Set(forms.map(stem)).size, 1, forms.map(stem).join(' '));
  });

  it('never throw, and never hold a space', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => {
        for (const word of wordsOf(text)) assert.ok(word.length > 0 && !/\s/.test(word));
      }),
    );
  });
});
