import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { FsHandle } from '../contract/capability.ts';
import type { RuleDefinition, RuleSubject } from '../contract/rule.ts';
import { failingCases } from './conformance.ts';
import { RULE_CASES, type RuleEnvironment } from './rule-suite.ts';

const files = {} as Pick<FsHandle, 'read' | 'stat' | 'list'>;
const subject = (path: string): RuleSubject => ({
  tool: 'file_write',
  args: { path },
  effects: [],
  allows: () => true,
  changes: [{ path, before: null, after: { type: 'dir', mode: 0o755 }, stored: false }],
  files,
  signal: new AbortController().signal,
});

/** No path may hold a space. */
const sound: RuleDefinition = {
  id: 'test.no_spaces',
  category: 'test',
  level: 'warning',
  description: 'paths hold no space',
  triggers: ['file_write'],
  check: ({ changes }) =>
    changes
      .filter(({ path }) => path.includes(' '))
      .map(({ path }) => ({ rule: 'test.no_spaces', path, message: 'has a space' })),
};

let calls = 0;
const BROKEN: Readonly<Record<string, RuleDefinition>> = {
  'finds nothing': { ...sound, check: () => [] },
  'finds everything': { ...sound, check: () => [{ rule: sound.id, message: 'bad' }] },
  'speaks under another name': {
    ...sound,
    check: async (s) => (await sound.check(s)).map((v) => ({ ...v, rule: 'other.rule' })),
  },
  'says nothing about it': {
    ...sound,
    check: async (s) => (await sound.check(s)).map((v) => ({ ...v, message: '' })),
  },
  'is never triggered': { ...sound, triggers: [] },
  'lowers a security rule': { ...sound, id: 'sec.no_spaces' },
  'changes its mind': {
    ...sound,
    check: async (s) => (await sound.check(s)).map((v) => ({ ...v, line: ++calls })),
  },
};

const open = async (rule: RuleDefinition): Promise<RuleEnvironment> => ({
  rule,
  violating: [subject('a b')],
  clean: [subject('ab')],
  close: async () => {},
});

describe('ruleSuite', () => {
  it('passes on a sound rule', async () =>
    assert.deepEqual(await failingCases(RULE_CASES, () => open(sound)), []));
  for (const [fault, rule] of Object.entries(BROKEN)) {
    it(`fails on a rule that ${fault}`, async () => {
      assert.notDeepEqual(await failingCases(RULE_CASES, () => open(rule)), []);
    });
  }
});
