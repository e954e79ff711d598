import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { boundTool } from '../../../contract/tools-for-tests.ts';
import { createSchemaCompiler } from '../../../loader/schema/schema-compiler.ts';
import { brokenSchemas } from './server.ts';

const object = (properties: object) => ({ type: 'object', properties }) as const;

describe('brokenSchemas', () => {
  it('lets others have their turn while it looks at many tools', async () => {
    const schemas = createSchemaCompiler();
    // The library is there: nothing but the work itself takes its time.
    await (await schemas.compile({ type: 'object', not: {} }))({});
    const tools = Array.from({ length: 1_000 }, (_, n) =>
      boundTool(`many.t${n}`, 'stdio', {}, { input: object({ [`a${n}`]: { type: 'string' } }) as never }),
    );
    let turns = 0;
    let over = false;
    const others = () => {
      turns++;
      if (!over) setImmediate(others);
    };
    setImmediate(others);
    assert.deepEqual(await brokenSchemas(tools, schemas), {});
    over = true;
    assert.ok(turns > 1, 'others had no turn');
  });

  it('says which schemas do not compile, and which are too large', async () => {
    const many = Object.fromEntries(Array.from({ length: 20_000 }, (_, n) => [`p${n}`, { type: 'string' }]));
    const tools = [
      boundTool('p.fine', 'stdio', {}),
      boundTool('p.odd', 'stdio', {}, { output: { type: 'no-such-type' } as never }),
      boundTool('p.large', 'stdio', {}, { input: object(many) as never }),
    ];
    const broken = await brokenSchemas(tools, createSchemaCompiler());
    assert.deepEqual(Object.keys(broken), ['p.odd', 'p.large']);
    assert.match(broken['p.odd'] ?? '', /^its output schema does not compile/);
    assert.match(broken['p.large'] ?? '', /its input schema .*it is \d+ bytes, over the limit of 262144/);
  });
});
