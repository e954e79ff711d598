import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { headersOf, nameHeader, paramHeaders } from './param-headers.ts';

const marked = (type: string, name: unknown = 'Region') => ({ type, 'x-mcp-header': name });
const at = (property: object) => ({ type: 'object', properties: { region: property } });

describe('paramHeaders', () => {
  it('finds what is marked, also deeper', () => {
    assert.deepEqual(paramHeaders(at(marked('string'))), [{ path: ['region'], name: 'Region' }]);
    assert.deepEqual(paramHeaders(at(at(marked('integer')))), [
      { path: ['region', 'region'], name: 'Region' },
    ]);
    assert.deepEqual(paramHeaders({ enum: [marked('number')], default: marked('number') }), []);
  });

  const FAULTS: readonly (readonly [string, object, RegExp])[] = [
    ['a number', at(marked('number')), /not on a text/],
    ['an empty name', at(marked('string', '')), /no name of a header/],
    ['a name with a line break', at(marked('string', 'a\r\nb')), /no name of a header/],
    ['a name that is no text', at(marked('string', 3)), /no name of a header/],
    ['an element of a list', at({ type: 'array', items: marked('string') }), /reached by properties alone/],
    ['an alternative', { anyOf: [at(marked('string'))] }, /reached by properties alone/],
    ['the whole', marked('string'), /reached by properties alone/],
    [
      'the same name twice',
      { properties: { a: marked('string', 'X'), b: marked('string', 'x') } },
      /the same/,
    ],
  ];
  for (const [what, schema, fault] of FAULTS)
    it(`refuses ${what}`, () => assert.match(String(paramHeaders(schema)), fault));
});

describe('headersOf', () => {
  it('writes values as the protocol says, and leaves out what is not there', () => {
    const marks = [
      { path: ['a'], name: 'A' },
      { path: ['b', 'c'], name: 'C' },
    ];
    assert.deepEqual(headersOf(marks, { a: 42, b: { c: true } }), {
      'mcp-param-a': '42',
      'mcp-param-c': 'true',
    });
    assert.deepEqual(headersOf(marks, { a: null, b: 'text' }), {});
    assert.deepEqual(headersOf([{ path: ['constructor'], name: 'A' }], {}), {});
  });

  for (const [value, written] of [
    ['us-west1', 'us-west1'],
    ['a b', 'a b'],
    ['Hello, 世界', '=?base64?SGVsbG8sIOS4lueVjA==?='],
    [' padded ', '=?base64?IHBhZGRlZCA=?='],
    ['line1\nline2', '=?base64?bGluZTEKbGluZTI=?='],
    ['=?base64?literal?=', '=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?='],
  ] as const)
    it(`writes ${JSON.stringify(value)} as ${written}`, () => assert.equal(nameHeader(value), written));
});
