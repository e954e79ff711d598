import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { OpenPack } from '../../contract/runtime.ts';
import { GOOD, IMAGE, OTHER_ID, type PackFixture, TEXT_ID, withPacks } from './toolpack-for-tests.ts';

interface Case {
  readonly what: string;
  readonly kind: 'docker' | 'slurm' | 'hybrid';
  readonly code: string;
  /** JavaScript: what canonicalize answers. `good(args)` is a good answer of this kind, `put(object, path, value)` changes it. */
  readonly answer: string;
  readonly message?: RegExp;
}

const docker = (what: string, code: string, answer: string, message?: RegExp): Case => ({
  what,
  kind: 'docker',
  code,
  answer,
  ...(message ? { message } : {}),
});
const slurm = (what: string, code: string, answer: string, message?: RegExp): Case => ({
  ...docker(what, code, answer, message),
  kind: 'slurm',
});
const hybrid = (what: string, code: string, answer: string, message?: RegExp): Case => ({
  ...docker(what, code, answer, message),
  kind: 'hybrid',
});
const put = (path: string, value: string) => `put(good(args), ${JSON.stringify(path)}, ${value})`;
const second = (dest: string) =>
  `put(put(good(args), 'inputsToLink.1', { role: 'more', artifactId: args.text }), PLAN_INPUTS + '.1', { role: 'more', artifactId: args.text, [DEST]: '${dest}' })`;

const CASES: readonly Case[] = [
  docker('no object', 'answer.invalid', 'null'),
  docker('a field that nobody knows', 'answer.invalid', put('extra', '1'), /"extra"/),
  docker('params that are no object', 'params.invalid', put('canonicalParams', '[]')),
  ...(
    [
      ['undefined', 'undefined', /it is undefined/],
      ['a bigint', '1n', /it is a bigint/],
      ['a function', '() => 1', /it is a function/],
      ['a symbol', "Symbol('x')", /it is a symbol/],
      ['NaN', 'Number.NaN', /it is NaN/],
      ['an infinity', '-Infinity', /it is -Infinity/],
      ['a date', 'new Date(0)', /not a plain object/],
      ['a map', 'new Map()', /not a plain object/],
      ['an instance of a class', 'new (class A {})()', /not a plain object/],
      ['a hole', '[1, , 2]', /hole/],
      ['an accessor', '{ get a() { return 1; } }', /accessor/],
      ['an array with extra properties', 'Object.assign([1], { a: 1 })', /extra properties/],
      ['a symbol as a key', "{ [Symbol('k')]: 1 }", /symbol as a key/],
      ['a cycle', '(() => { const a = {}; a.a = a; return a; })()', /cycle/],
      ['an integer beyond 2^53', '2 ** 60', /beyond 2\^53-1/],
      ['a lone surrogate', "'\\ud800'", /lone surrogate/],
      ['too many levels', "JSON.parse('['.repeat(70) + ']'.repeat(70))", /levels deep/],
    ] as const
  ).map(([what, value, message]) =>
    docker(`params with ${what}`, 'params.not_json', put('canonicalParams.x', value), message),
  ),
  docker('links that are no list', 'inputs.invalid', put('inputsToLink', '{}')),
  docker('a link with a further field', 'inputs.invalid', put('inputsToLink.0.path', "'x'")),
  docker('a role with white space', 'role.whitespace', put('inputsToLink.0.role', "'text '"), /"text "/),
  docker('an artifact id that is none', 'inputs.invalid', put('inputsToLink.0.artifactId', "'art_1'")),
  docker(
    'an artifact that the arguments do not name',
    'inputs.unnamed',
    put('inputsToLink.0.artifactId', `'${OTHER_ID}'`),
  ),
  docker('an input that was not linked', 'inputs.additional', put('inputsToLink', '[]')),
  docker('a link that is no input', 'inputs.missing', put('plan.inputs', '[]')),
  docker(
    'an input twice',
    'inputs.additional',
    put('plan.inputs.1', "{ role: 'text', artifactId: args.text, destName: 'b' }"),
  ),
  docker('an input of another role', 'inputs.additional', put('plan.inputs.0.role', "'other'")),
  docker(
    'an input without a destName',
    'dest.missing',
    put('plan.inputs.0.destName', 'undefined && 0 || ""'),
  ),
  docker('a destName with white space', 'dest.whitespace', put('plan.inputs.0.destName', "' text'")),
  docker('a destName that leaves in/', 'dest.unsafe', put('plan.inputs.0.destName', "'../out/x'")),
  docker('an absolute destName', 'dest.unsafe', put('plan.inputs.0.destName', "'/etc/passwd'")),
  docker('a destName with a line break', 'dest.unsafe', put('plan.inputs.0.destName', "'a\\nb'")),
  docker('a destName that is the folder itself', 'dest.unsafe', put('plan.inputs.0.destName', "'.'")),
  docker('two inputs of one destName', 'dest.collision', second('text.txt')),
  docker('two spellings of one destName', 'dest.collision', second('./text.txt')),
  docker('a destName below another', 'dest.collision', second('text.txt/b')),
  docker('a plan of another kind', 'plan.kind', put('plan.kind', "'slurm'")),
  docker('no plan', 'plan.invalid', put('plan', 'null')),
  docker('a field of the plan that nobody knows', 'plan.unknown', put('plan.mounts', '[]'), /"mounts"/),
  docker('a network in the plan', 'network.refused', put('plan.network', "'host'")),
  docker(
    'an image by its tag',
    'image.unpinned',
    put('plan.image', "'haft/text:latest'"),
    /"haft\/text:latest"/,
  ),
  docker('no image', 'image.unpinned', put('plan.image', '0')),
  docker('no program', 'argv.invalid', put('plan.argv', '[]')),
  docker('an argument that is no text', 'argv.invalid', put('plan.argv.1', '1')),
  docker('a variable that is no name', 'env.invalid', put('plan.env', "{ 'a b': '1' }")),
  docker('a variable that is no text', 'env.invalid', put('plan.env', '{ A: 1 }')),
  docker('a resource that nobody knows', 'resources.invalid', put('plan.resources', '{ gpus: 1 }')),
  docker('a resource below zero', 'resources.invalid', put('plan.resources', '{ memoryBytes: -1 }')),
  slurm('no io', 'plan.invalid', put('plan.io', 'null')),
  slurm('an input that was not linked', 'inputs.additional', put('inputsToLink', '[]')),
  slurm('no dest_relpath', 'dest.missing', put('plan.io.inputs.0.dest_relpath', "''")),
  slurm(
    'a dest_relpath with white space',
    'dest.whitespace',
    put('plan.io.inputs.0.dest_relpath', "'in/x '"),
  ),
  slurm(
    'a dest_relpath that is not below in/',
    'dest.unsafe',
    put('plan.io.inputs.0.dest_relpath', "'x'"),
    /begin with "in\/"/,
  ),
  slurm(
    'a dest_relpath that leaves in/',
    'dest.unsafe',
    put('plan.io.inputs.0.dest_relpath', "'in/../out/x'"),
  ),
  slurm(
    'in/text.txt against in/./text.txt',
    'dest.collision',
    second('in/./text.txt'),
    /"in\/text.txt" and "in\/.\/text.txt"/,
  ),
  slurm('an output that is missing', 'outputs.missing', put('plan.io.outputs', '[]')),
  slurm(
    'an output too many',
    'outputs.additional',
    put('plan.io.outputs.1', "{ role: 'b', type: 't', label: 'l', srcRelpath: 'out/b' }"),
  ),
  slurm('an output of another role', 'outputs.missing', put('plan.io.outputs.0.role', "'b'")),
  slurm('an output of another type', 'outputs.missing', put('plan.io.outputs.0.type', "'b'")),
  slurm('an output of another label', 'outputs.missing', put('plan.io.outputs.0.label', "'b'")),
  slurm('an output in another place', 'outputs.missing', put('plan.io.outputs.0.srcRelpath', "'out/b'")),
  slurm('an output that is a folder', 'outputs.missing', put('plan.io.outputs.0.srcRelpath', "'out/s/'")),
  slurm('an output outside of out/', 'src_relpath.unsafe', put('plan.io.outputs.0.srcRelpath', "'out/../b'")),
  slurm('mutable state without a snapshot', 'snapshot.missing', put('canonicalParams', '{}'), /"reference"/),
  slurm(
    'mutable state with a name as its snapshot',
    'snapshot.missing',
    put('canonicalParams.reference_digest', "'latest'"),
  ),
  hybrid('one plan only', 'plan.kind', put('plan.slurm', 'null')),
  hybrid('plans of two programs', 'hybrid.differs', put('plan.slurm.argv.0', "'sort'"), /differ in argv/),
  hybrid(
    'plans of two images',
    'hybrid.differs',
    put('plan.slurm.image', `'${IMAGE.replace('aaaa', 'bbbb')}'`),
    /differ in image/,
  ),
  hybrid(
    'plans with inputs in two places',
    'hybrid.differs',
    put('plan.slurm.io.inputs.0.dest_relpath', "'in/other'"),
    /differ in inputs/,
  ),
];

const OUTPUT = "{ role: 'stats', type: 'text/plain', label: 'Counts', srcRelpath: 'out/stats.txt' }";
const PLANS = `
const dockerPlan = (args) => ({ kind: 'docker', image: '${IMAGE}', argv: ['wc', 'in/text.txt'], inputs: [{ role: 'text', artifactId: args.text, destName: 'text.txt' }] });
const slurmPlan = (args) => ({ kind: 'slurm', image: '${IMAGE}', argv: ['wc', 'in/text.txt'], io: { inputs: [{ role: 'text', artifactId: args.text, dest_relpath: 'in/text.txt' }], outputs: [${OUTPUT}] } });
const PLANS = { docker: dockerPlan, slurm: slurmPlan, hybrid: (args) => ({ kind: 'hybrid', docker: dockerPlan(args), slurm: slurmPlan(args) }) };
const put = (object, path, value) => {
  const names = path.split('.');
  const last = names.pop();
  names.reduce((at, name) => at[name], object)[last] = value;
  return object;
};
const goodOf = (kind) => (args) => ({
  canonicalParams: { reference_digest: 'sha256:${'c'.repeat(64)}' },
  inputsToLink: [{ artifactId: args.text, role: 'text' }],
  plan: PLANS[kind](args),
});
const DESTS = { docker: ['plan.inputs', 'destName'], slurm: ['plan.io.inputs', 'dest_relpath'], hybrid: ['', ''] };
const CASES = [
  ${CASES.map(({ answer }) => `(args, good, PLAN_INPUTS, DEST) => (${answer})`).join(',\n  ')}
];
const toolOf = (kind) => ({ ...GOOD, toolName: kind + '_tool', planKind: kind, ...(kind === 'slurm' ? { mutableState: [{ name: 'reference', snapshot: 'reference_digest' }] } : {}),
  canonicalize: (args) => args.case === undefined ? goodOf(kind)(args) : CASES[args.case](args, goodOf(kind), ...DESTS[kind]) });
`;
const MODULE = `import { runPlan } from 'haft/toolpack';
const GOOD = { ${Object.entries(GOOD)
  .map(([key, value]) => `${key}: ${value}`)
  .join(', ')} };
${PLANS}
export default ['docker', 'slurm', 'hybrid'].map(toolOf);
`;

describe('prepare refuses a call for which canonicalize answers', () => {
  let fixture: PackFixture;
  let pack: OpenPack;
  const end = Promise.withResolvers<void>();
  let held: Promise<void>;
  before(async () => {
    const ready = Promise.withResolvers<void>();
    held = withPacks(async (opened) => {
      fixture = opened;
      const { value, diagnostics } = await opened.open({ 'toolpack.js': MODULE, 'package.json': PACKAGE_JS });
      assert.ok(value, JSON.stringify(diagnostics));
      pack = value;
      ready.resolve();
      await end.promise;
    });
    await Promise.race([ready.promise, held]);
  });
  after(() => {
    end.resolve();
    return held;
  });

  for (const [n, { what, kind, code, message = /./ }] of CASES.entries()) {
    it(`${what} (${kind}): ${code}`, async () => {
      const failure = await fixture.prepare(pack, { text: TEXT_ID, case: n }, `${kind}_tool`).then(
        () => assert.fail('it was prepared'),
        (thrown) => thrown,
      );
      assert.equal(failure.reason, 'toolpack.abi', failure.message);
      const problems: { code: string; message: string }[] = failure.details.problems;
      const found = problems.find((one) => one.code === code);
      assert.match(found?.message ?? JSON.stringify(problems), message);
      assert.ok(found, JSON.stringify(problems));
    });
  }

  it('nothing of what it accepts: docker, slurm and hybrid make one run', async () => {
    const [a, b, c] = await Promise.all(
      ['docker', 'slurm', 'hybrid'].map((kind) => fixture.prepare(pack, { text: TEXT_ID }, `${kind}_tool`)),
    );
    assert.deepEqual(a?.params, b?.params);
    assert.deepEqual(a?.params, c?.params);
    assert.deepEqual(a?.plan, c?.plan);
  });

  it('an artifact that is not in the store', async () => {
    await assert.rejects(fixture.prepare(pack, { text: OTHER_ID }), { reason: 'artifact.unknown' });
  });
});

const PACKAGE_JS = JSON.stringify({
  name: 'rules',
  version: '1.0.0',
  type: 'module',
  haft: { toolpack: 'toolpack.js' },
});
