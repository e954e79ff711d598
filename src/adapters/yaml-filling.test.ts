import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { YamlTool } from '../contract/yaml-tool.ts';
import { createFillings, type YamlUse } from './yaml-filling.ts';

const credential = {
  provider: 'hub',
  scope: 'any' as const,
  required: true,
  schema: { type: 'object', properties: { token: {}, user: {} } },
  env: { HUB_TOKEN: 'token' },
  headers: { Authorization: 'Bearer {{ token }}' },
  context: true,
};

function useOf(tool: Partial<YamlTool>, action?: string): YamlUse {
  const whole = {
    id: 'p.x',
    version: '1.2.3',
    env: { passthrough: [], set: {} },
    credentials: [],
    templating: { engine: 'jinja2', context: {} },
    ...tool,
  } as unknown as YamlTool;
  return { ...whole, tool: whole, ...(action === undefined ? {} : { action }) } as unknown as YamlUse;
}

describe('createFillings', () => {
  const given = { input: { n: 1 }, config: { depth: 2 }, secrets: {} };

  it('has input, env, config, id, version, action and the context, in that order of strength', () => {
    const templating = { engine: 'jinja2' as const, context: { mine: 'm', input: 'hidden', id: 'hidden' } };
    const env = { passthrough: ['HOME_OF'], set: { MADE: '{{ input.n }}-{{ env.HOME_OF }}' } };
    const filling = createFillings({ HOME_OF: 'h', OTHER: 'o' }).fill(
      useOf({ templating, env }, 'list'),
      given,
    );
    const source =
      '{{ input.n }} {{ env.HOME_OF }} {{ env.MADE }} {{ env.OTHER }}|{{ config.depth }} {{ id }} {{ version }} {{ action }} {{ mine }}';
    assert.equal(filling.text(source, 'x'), '1 h 1-h |2 p.x 1.2.3 list m');
    assert.deepEqual(filling.env, { HOME_OF: 'h', MADE: '1-h' });
  });

  it('fills in every text of a value, and leaves the rest', () => {
    const filling = createFillings({}).fill(useOf({}), given);
    const value = { a: '{{ input.n }}', b: [true, null, 3, '{{ id }}'], '{{ k }}': 'x' };
    assert.deepEqual(filling.json(value, 'body'), { a: '1', b: [true, null, 3, 'p.x'], '{{ k }}': 'x' });
  });

  it('takes braces for braces where there is no templating', () => {
    const { templating: _, ...plain } = useOf({}).tool;
    const filling = createFillings({}).fill({ ...useOf({}), tool: plain as YamlTool }, given);
    assert.equal(filling.text('{{ input.n }}', 'x'), '{{ input.n }}');
  });

  it('says which text of which tool cannot be filled in', () => {
    const filling = createFillings({}).fill(useOf({}), given);
    assert.throws(() => filling.text('a\n{{ input.x.y }}', 'cmd[2]'), {
      reason: 'tool.failed',
      message: 'Cannot fill in cmd[2] of "p.x" (line 2): "input.x" is undefined',
    });
  });

  it('puts secrets where they belong, and placeholders in what is shown', () => {
    const use = useOf({ credentials: [credential] });
    const fillings = createFillings({});
    const secret = fillings.fill(use, { ...given, secrets: { hub: { token: 's3cret', user: 'ada' } } });
    assert.deepEqual(secret.env, { HUB_TOKEN: 's3cret' });
    assert.deepEqual(secret.headers, { Authorization: 'Bearer s3cret' });
    assert.equal(secret.text('{{ credentials.hub.user }}', 'x'), 'ada');
    const masked = fillings.masked(use, given);
    assert.deepEqual(masked.env, { HUB_TOKEN: 'SECRET' });
    assert.equal(masked.text('{{ credentials.hub.user }}:{{ credentials.hub.token }}', 'x'), 'SECRET:SECRET');
  });
});
