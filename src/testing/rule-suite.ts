// Owns: what every rule must do: find what it is for, stay quiet otherwise, name itself, change nothing.
// Refuses: what a rule looks for; its author brings subjects that violate it and subjects that do not.
import assert from 'node:assert/strict';
import type { RuleDefinition, RuleSubject } from '../contract/rule.ts';
import { type ConformanceCase, type Environment, registerCases } from './conformance.ts';

export interface RuleEnvironment extends Environment {
  readonly rule: RuleDefinition;
  readonly violating: readonly RuleSubject[];
  readonly clean: readonly RuleSubject[];
}

export const RULE_CASES: readonly ConformanceCase<RuleEnvironment>[] = [
  {
    name: 'has a subject on either side',
    async run({ violating, clean }) {
      assert.ok(violating.length > 0 && clean.length > 0);
    },
  },
  {
    name: 'has an id of dotted words, a description and a trigger',
    async run({ rule }) {
      assert.match(rule.id, /^[a-z]+(\.[a-z_]+)+$/);
      assert.ok(rule.description.length > 0 && rule.triggers.length > 0);
      if (rule.id.startsWith('sec.')) assert.equal(rule.level, 'blocking');
    },
  },
  {
    name: 'finds each violating subject, under its own id and with a message',
    async run({ rule, violating }) {
      for (const subject of violating) {
        const found = await rule.check(subject);
        assert.ok(found.length > 0, 'nothing was found');
        for (const one of found)
          assert.ok(one.rule === rule.id && one.message.length > 0, JSON.stringify(one));
      }
    },
  },
  {
    name: 'finds nothing in a clean subject',
    async run({ rule, clean }) {
      for (const subject of clean) assert.deepEqual(await rule.check(subject), []);
    },
  },
  {
    name: 'gives the same answer twice',
    async run({ rule, violating }) {
      for (const subject of violating) assert.deepEqual(await rule.check(subject), await rule.check(subject));
    },
  },
];

export function ruleSuite(open: () => Promise<RuleEnvironment>, name = 'the rule'): void {
  registerCases(`${name} is a rule`, RULE_CASES, open);
}
