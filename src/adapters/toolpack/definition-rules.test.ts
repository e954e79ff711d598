import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Diagnostic } from '../../contract/diagnostic.ts';
import { GOOD, withPacks } from './toolpack-for-tests.ts';

interface Case {
  readonly rule: string;
  readonly code: string;
  readonly change: Readonly<Record<string, string | undefined>>;
  readonly message: RegExp;
}

const output = (fields: string) =>
  `[{ role: 'stats', type: 'text/plain', label: 'Counts', srcRelpath: 'out/s', ${fields} }]`;

/** What is wrong with each definition, and what is said of it. */
const CASES: readonly Case[] = [
  {
    rule: 'an ABI of another version',
    code: 'abi.unknown',
    change: { abiVersion: "'v2'" },
    message: /"v2"; this host knows "v1"/,
  },
  { rule: 'no ABI version', code: 'abi.unknown', change: { abiVersion: undefined }, message: /missing/ },
  {
    rule: 'an ABI version with white space',
    code: 'abi.unknown',
    change: { abiVersion: "'v1 '" },
    message: /"v1 "/,
  },
  {
    rule: 'a name with a dot',
    code: 'name.invalid',
    change: { toolName: "'text.stats'" },
    message: /"text.stats"/,
  },
  { rule: 'a name with a capital', code: 'name.invalid', change: { toolName: "'Text'" }, message: /"Text"/ },
  {
    rule: 'a name that begins with a digit',
    code: 'name.invalid',
    change: { toolName: "'1text'" },
    message: /"1text"/,
  },
  {
    rule: 'a name with white space',
    code: 'name.invalid',
    change: { toolName: "' text'" },
    message: /" text"/,
  },
  {
    rule: 'a contract version that is a number',
    code: 'contract.invalid',
    change: { contractVersion: '1' },
    message: /contractVersion is 1/,
  },
  {
    rule: 'a contract version of SemVer',
    code: 'contract.invalid',
    change: { contractVersion: "'v1.0'" },
    message: /"v1.0"/,
  },
  {
    rule: 'a contract version zero',
    code: 'contract.invalid',
    change: { contractVersion: "'v0'" },
    message: /"v0"/,
  },
  {
    rule: 'a plan kind that nobody knows',
    code: 'plan_kind.unknown',
    change: { planKind: "'k8s'" },
    message: /docker, slurm, hybrid/,
  },
  {
    rule: 'no description',
    code: 'description.missing',
    change: { description: "' '" },
    message: /description/,
  },
  {
    rule: 'no canonicalize',
    code: 'function.missing',
    change: { canonicalize: undefined },
    message: /canonicalize is not a function/,
  },
  {
    rule: 'a run that is no function',
    code: 'function.missing',
    change: { run: "'run'" },
    message: /run is not a function/,
  },
  {
    rule: 'no input schema',
    code: 'schema.missing',
    change: { input: undefined },
    message: /input is missing/,
  },
  {
    rule: 'a schema of a library without JSON Schema',
    code: 'schema.invalid',
    change: { input: "{ '~standard': { vendor: 'x' } }" },
    message: /Standard JSON Schema/,
  },
  {
    rule: 'a field that is no JSON',
    code: 'field.not_json',
    change: { tags: '[undefined]' },
    message: /tags\/0 cannot be taken: it is undefined/,
  },
  {
    rule: 'a field that nobody knows',
    code: 'field.unknown',
    change: { declaredOutput: '[]' },
    message: /"declaredOutput" is no field/,
  },
  {
    rule: 'a network',
    code: 'network.refused',
    change: { network: "{ hosts: ['example.org'] }" },
    message: /asks for a network/,
  },
  {
    rule: 'a network by another name',
    code: 'network.refused',
    change: { caps: '{ network: true }' },
    message: /asks for a network/,
  },
  {
    rule: 'a title with a line break',
    code: 'text.whitespace',
    change: { title: "'a\\nb'" },
    message: /title is "a\\nb"/,
  },
  {
    rule: 'tags that are no list',
    code: 'field.invalid',
    change: { tags: "'x'" },
    message: /tags is a list/,
  },
  {
    rule: 'a limit below one',
    code: 'field.invalid',
    change: { limits: '{ timeoutMs: 0 }' },
    message: /limits is/,
  },
  {
    rule: 'examples without arguments',
    code: 'field.invalid',
    change: { examples: "[{ title: 'x' }]" },
    message: /examples is a list/,
  },
  {
    rule: 'mutable state without a snapshot',
    code: 'mutable_state.invalid',
    change: { mutableState: "[{ name: 'db' }]" },
    message: /mutableState is a list/,
  },
  {
    rule: 'outputs that are no list',
    code: 'outputs.missing',
    change: { declaredOutputs: undefined },
    message: /not a list/,
  },
  {
    rule: 'an output that is no object',
    code: 'outputs.invalid',
    change: { declaredOutputs: "['stats']" },
    message: /declaredOutputs\[0\]/,
  },
  {
    rule: 'an output with an unknown field',
    code: 'outputs.invalid',
    change: { declaredOutputs: output('path: 1') },
    message: /"path"/,
  },
  {
    rule: 'the reserved role',
    code: 'role.reserved',
    change: { declaredOutputs: output("role: 'log'") },
    message: /"log", which every run makes/,
  },
  {
    rule: 'a role with white space at its end',
    code: 'text.whitespace',
    change: { declaredOutputs: output("role: 'stats '") },
    message: /role is "stats "/,
  },
  {
    rule: 'a role with white space inside',
    code: 'text.whitespace',
    change: { declaredOutputs: output("role: 'my stats'") },
    message: /no white space/,
  },
  {
    rule: 'a type with white space',
    code: 'text.whitespace',
    change: { declaredOutputs: output("type: ' text/plain'") },
    message: /type is " text/,
  },
  {
    rule: 'a label with a tab',
    code: 'text.whitespace',
    change: { declaredOutputs: output("label: 'a\\tb'") },
    message: /label is "a\\tb"/,
  },
  {
    rule: 'an output without a label',
    code: 'field.invalid',
    change: { declaredOutputs: output('label: undefined').replace('label: undefined', "label: ''") },
    message: /label is ""/,
  },
  {
    rule: 'a place that leaves out/',
    code: 'src_relpath.unsafe',
    change: { declaredOutputs: output("srcRelpath: 'out/../in/x'") },
    message: /"\.\."/,
  },
  {
    rule: 'a place that is not below out/',
    code: 'src_relpath.unsafe',
    change: { declaredOutputs: output("srcRelpath: 'stats.txt'") },
    message: /begin with "out\/"/,
  },
  {
    rule: 'an absolute place',
    code: 'src_relpath.unsafe',
    change: { declaredOutputs: output("srcRelpath: '/etc/x'") },
    message: /absolute/,
  },
  {
    rule: 'a slurm output without a place',
    code: 'src_relpath.unsafe',
    change: { planKind: "'slurm'", declaredOutputs: "[{ role: 's', type: 't', label: 'l' }]" },
    message: /missing/,
  },
  {
    rule: 'a role twice',
    code: 'role.duplicate',
    change: {
      declaredOutputs:
        "[{ role: 's', type: 't', label: 'l', srcRelpath: 'out/a' }, { role: 's', type: 't', label: 'l', srcRelpath: 'out/b' }]",
    },
    message: /"s", as another output/,
  },
  {
    rule: 'two outputs in one place',
    code: 'src_relpath.collision',
    change: {
      declaredOutputs:
        "[{ role: 'a', type: 't', label: 'l', srcRelpath: 'out/x' }, { role: 'b', type: 't', label: 'l', srcRelpath: 'out/./x' }]",
    },
    message: /in each other's way/,
  },
  {
    rule: 'an output where another needs a folder',
    code: 'src_relpath.collision',
    change: {
      declaredOutputs:
        "[{ role: 'a', type: 't', label: 'l', srcRelpath: 'out/x/y' }, { role: 'b', type: 't', label: 'l', srcRelpath: 'out/x' }]",
    },
    message: /in each other's way/,
  },
  {
    rule: 'a file in a folder that is an output',
    code: 'src_relpath.collision',
    change: {
      declaredOutputs:
        "[{ role: 'a', type: 't', label: 'l', srcRelpath: 'out/x/' }, { role: 'b', type: 't', label: 'l', srcRelpath: 'out/x/y' }]",
    },
    message: /in each other's way/,
  },
  {
    rule: 'all of out/ as one output',
    code: 'src_relpath.unsafe',
    change: { declaredOutputs: output("srcRelpath: 'out/'") },
    message: /begin with "out\/"/,
  },
  {
    rule: 'two slashes at the end of a place',
    code: 'src_relpath.unsafe',
    change: { declaredOutputs: output("srcRelpath: 'out/x//'") },
    message: /it names a folder/,
  },
];

const fieldsText = (fields: Readonly<Record<string, string | undefined>>) =>
  Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => `${key}: ${value}`)
    .join(', ');

describe('openToolpack refuses a definition with', async () => {
  let told: readonly Diagnostic[] | undefined;
  /** All of them are in one module, and all that is wrong is told at once. */
  const load = async () => {
    told ??= await withPacks(async ({ open }) => {
      const definitions = CASES.map(
        ({ change }, n) => `{ ${fieldsText({ ...GOOD, toolName: `'case_${n}'`, ...change })} }`,
      );
      const text = `import { runPlan } from 'haft/toolpack';\nexport default [\n${definitions.join(',\n')}\n];\n`;
      const { value, diagnostics } = await open({ 'toolpack.ts': text });
      assert.equal(value, undefined);
      return diagnostics;
    });
    return told;
  };
  for (const [n, { rule, code, change, message }] of CASES.entries()) {
    it(`${rule}: ${code}`, async () => {
      const own = (await load()).filter(
        (one) => change.toolName !== undefined || one.message.startsWith(`case_${n}: `),
      );
      const found = own.filter((one) => one.code === code && message.test(one.message));
      assert.equal(found.length, 1, JSON.stringify(own, null, 1));
      assert.equal(found[0]?.file, 'toolpack.ts');
    });
  }
  it('nothing that is said twice or of a definition that is right', async () => {
    const expected = CASES.length;
    assert.equal((await load()).length, expected, (await load()).map(({ message }) => message).join('\n'));
  });
});
