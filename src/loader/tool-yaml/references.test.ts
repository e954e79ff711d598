// Owns: references between the files of a pack, and the place of every mistake in them.
// Refuses: what bundling means for a schema; schema/bundle-schema.test.ts has that.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { makePack, manifest } from './pack-for-tests.ts';
import { ToolpackLoader } from './toolpack-loader.ts';
import type { ToolpackValidationError } from './toolpack-validation-error.ts';

async function load(files: {
  readonly [path: string]: string;
}): Promise<{ said: string[]; loader: ToolpackLoader }> {
  const loader = new ToolpackLoader();
  const said = await loader.loadDir(makePack(files)).then(
    ({ diagnostics }) => diagnostics,
    (thrown: ToolpackValidationError) => thrown.diagnostics,
  );
  return { loader, said: said.map(({ file, line, column, code }) => `${file}:${line}:${column} ${code}`) };
}

const tool = manifest({ inputSchema: '\n  $ref: schemas/in.json' });

describe('references of a manifest', () => {
  it('lead to JSON and to YAML, also to YAML that needs the reader with places', async () => {
    const { said, loader } = await load({
      'a.tool.yaml': manifest({
        inputSchema: '{ $ref: in.yaml }',
        outputSchema: '{ $ref: "out.yml#/parts/text" }',
      }),
      'in.yaml':
        '---\ntype: object\nproperties:\n  a: &text { type: string }\n  b: *text\n  c: { $ref: more.yaml }\n',
      'more.yaml': '--- \nparts: {}\nitems: { $ref: "in.yaml#/properties/a" }\n',
      'out.yml': 'parts:\n  text: { type: string, maxLength: 3 }\n',
    });
    assert.deepEqual(said, []);
    assert.deepEqual(loader.get('demo.tool').outputSchema, { type: 'string', maxLength: 3 });
    assert.deepEqual(loader.get('demo.tool').inputSchema, {
      type: 'object',
      properties: { a: { type: 'string' }, b: { type: 'string' }, c: { $ref: '#/$defs/more' } },
      $defs: { more: { parts: {}, items: { $ref: '#/$defs/a' } }, a: { type: 'string' } },
    });
  });

  it('lead to the schemas of other manifests', async () => {
    const { said, loader } = await load({
      'a.tool.yaml': manifest({ inputSchema: '{ type: object, properties: { a: { type: number } } }' }),
      'b.tool.yaml': manifest({
        id: 'demo.b',
        outputSchema: '{ $ref: "a.tool.yaml#/inputSchema/properties/a" }',
      }),
    });
    assert.deepEqual(said, []);
    assert.deepEqual(loader.get('demo.b').outputSchema, { type: 'number' });
  });

  it('may be recursive', async () => {
    const { said, loader } = await load({
      'a.tool.yaml': tool,
      'schemas/in.json':
        '{"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#"}}}}',
    });
    assert.deepEqual(said, []);
    const item = {
      type: 'object',
      properties: { children: { type: 'array', items: { $ref: '#/$defs/self' } } },
    };
    assert.deepEqual(loader.get('demo.tool').inputSchema, { ...item, $defs: { self: item } });
  });

  const BAD: {
    readonly [why: string]: readonly [files: { readonly [path: string]: string }, said: readonly string[]];
  } = {
    'a file that is not there': [{ 'a.tool.yaml': tool }, ['a.tool.yaml:7:9 ref.missing']],
    'a pointer that leads nowhere': [
      {
        'a.tool.yaml': manifest({ inputSchema: '{ $ref: "in.json#/$defs/no" }' }),
        'in.json': '{"$defs": {}}',
      },
      ['a.tool.yaml:6:22 ref.pointer'],
    ],
    'a schema file that is no schema, once, and who refers to it': [
      {
        'a.tool.yaml': tool,
        'b.tool.yaml': manifest({ id: 'demo.b', outputSchema: '{ $ref: schemas/in.json }' }),
        'schemas/in.json': '{\n  "properties": {\n    "a": { "type": "strin" }\n  }\n}',
      },
      ['a.tool.yaml:7:9 ref.broken', 'b.tool.yaml:7:23 ref.broken', 'schemas/in.json:3:20 schema.keyword'],
    ],
    'JSON that is none': [
      { 'a.tool.yaml': tool, 'schemas/in.json': '{\n  "type": "object",\n}' },
      ['a.tool.yaml:7:9 ref.broken', 'schemas/in.json:3:1 schema.syntax'],
    ],
    'JSON with a key twice': [
      { 'a.tool.yaml': tool, 'schemas/in.json': '{"type": "object", "type": "string"}' },
      ['a.tool.yaml:7:9 ref.broken', 'schemas/in.json:1:1 schema.syntax'],
    ],
    'YAML that is none': [
      {
        'a.tool.yaml': manifest({ inputSchema: '{ $ref: in.yaml }' }),
        'in.yaml': 'type: object\nitems: [a\n',
      },
      ['a.tool.yaml:6:22 ref.broken', 'in.yaml:3:1 yaml.syntax'],
    ],
    'a number that JSON cannot hold': [
      { 'a.tool.yaml': manifest({ inputSchema: '{ $ref: in.yaml }' }), 'in.yaml': 'maximum: .inf\n' },
      ['a.tool.yaml:6:22 ref.broken', 'in.yaml:1:10 value.json'],
    ],
    'a bad reference in another file': [
      { 'a.tool.yaml': tool, 'schemas/in.json': '{"items": {"$ref": "no.json"}}' },
      ['a.tool.yaml:7:3 ref.broken', 'schemas/in.json:1:20 ref.missing'],
    ],
    'a schema that stands for itself': [
      { 'a.tool.yaml': tool, 'schemas/in.json': '{"$ref": "../a.tool.yaml#/inputSchema"}' },
      ['a.tool.yaml:7:3 ref.broken', 'schemas/in.json:1:10 ref.endless'],
    ],
  };
  for (const [why, [files, said]] of Object.entries(BAD)) {
    it(`tell ${why}`, async () => assert.deepEqual((await load(files)).said, said));
  }
});
