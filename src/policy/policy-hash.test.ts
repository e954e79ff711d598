// Owns: which edits of haft.yaml change the identity of a policy, and which change that of one tool's runs.
// Refuses: how hashes are used.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { engineFrom } from '../../test/support/policy-from-text.ts';
import type { PolicyFile } from '../contract/policy.ts';

const BASE = `network: {allowed_domains: [b.org, a.org]}
shell_allow: ['^cargo', '^npm']
tools:
  rules:
    - {tool: file_read, decision: allow}
    - {tool: curl, decision: deny}
paths:
  rules:
    - {path: secrets, read: deny, write: deny}
    - {path: docs, write: ask}
limits: {timeout_ms: 1000}
budgets: {calls: 10}
`;

interface Edit {
  readonly name: string;
  readonly from: string;
  readonly to: string;
  /** Whether the whole file's hash changes. */
  readonly file: boolean;
  /** Whether the hash for `file_read` changes. */
  readonly tool: boolean;
}

const EDITS: readonly Edit[] = [
  // Spelling
  { name: 'another order of rules', from: '[b.org, a.org]', to: '[a.org, b.org]', file: false, tool: false },
  {
    name: 'the long form of an entry',
    from: "'^npm'",
    to: "{pattern: '^npm', decision: allow}",
    file: false,
    tool: false,
  },
  {
    name: 'a default written out',
    from: 'tools:\n',
    to: 'tools:\n  default: allow\n',
    file: false,
    tool: false,
  },
  { name: 'a rule written twice', from: "'^npm']", to: "'^npm', '^npm']", file: false, tool: false },
  {
    name: 'another order of keys',
    from: 'read: deny, write: deny',
    to: 'write: deny, read: deny',
    file: false,
    tool: false,
  },
  {
    name: 'that programs are bound, written out',
    from: 'write: ask}',
    to: 'write: ask, programs: deny}',
    file: false,
    tool: false,
  },
  {
    name: 'a rule that does not bind programs',
    from: 'write: ask}',
    to: 'write: ask, programs: allow}',
    file: true,
    tool: true,
  },
  { name: 'an empty section', from: 'limits:', to: 'undo: {}\nlimits:', file: false, tool: false },
  {
    name: 'examples',
    from: 'write: ask}',
    to: 'write: ask, examples: {deny: [docs/a]}}',
    file: false,
    tool: false,
  },

  // What cannot change the output of file_read
  { name: 'a budget', from: 'calls: 10', to: 'calls: 11', file: true, tool: false },
  { name: 'an approval', from: 'limits:', to: 'approvals: {expire_ms: 5}\nlimits:', file: true, tool: false },
  { name: 'undo', from: 'limits:', to: 'undo: {max_bytes: 5}\nlimits:', file: true, tool: false },
  { name: 'what is kept', from: 'limits:', to: 'audit: {keep: {rows: 5}}\nlimits:', file: true, tool: false },
  { name: 'an empty audit', from: 'limits:', to: 'audit: {}\nlimits:', file: false, tool: false },
  {
    name: 'a validator',
    from: 'limits:',
    to: 'validators: [{rule: secrets.scan, enforcement: warning}]\nlimits:',
    file: true,
    tool: false,
  },
  { name: 'another tool', from: 'tool: curl', to: 'tool: curl_all', file: true, tool: false },
  {
    name: 'a question about this tool',
    from: 'file_read, decision: allow',
    to: 'file_read, decision: ask',
    file: true,
    tool: false,
  },
  {
    name: 'a question about a command',
    from: "'^npm'",
    to: "{pattern: '^npm', decision: ask}",
    file: true,
    tool: false,
  },
  { name: 'a pack', from: 'limits:', to: 'packs: [x]\nlimits:', file: true, tool: false },
  {
    name: 'where runs go',
    from: 'limits:',
    to: 'runs: {backend: docker, backends: [slurm], docker: {socket: /x}, slurm: {partitions: [a], accounts: [b]}}\nlimits:',
    file: true,
    tool: false,
  },
  {
    name: 'an image for another tool',
    from: 'limits:',
    to: 'runs: {images: [{image: "a/*", tools: [curl]}]}\nlimits:',
    file: true,
    tool: false,
  },

  {
    name: 'a question about paths of another tool',
    from: 'curl, decision: deny',
    to: 'curl, decision: ask, paths: [x]',
    file: true,
    tool: false,
  },

  // What can: also what is asked about, to which programs are closed
  { name: 'a question about another path', from: 'path: docs', to: 'path: docs2', file: true, tool: true },
  {
    name: 'a question about reading',
    from: 'write: ask}',
    to: 'write: ask, read: ask}',
    file: true,
    tool: true,
  },
  { name: 'a question less', from: 'write: ask}', to: 'write: allow}', file: true, tool: true },
  {
    name: 'a question about paths of this tool',
    from: 'file_read, decision: allow',
    to: 'file_read, decision: ask, paths: [x]',
    file: true,
    tool: true,
  },
  { name: 'an image', from: 'limits:', to: 'runs: {images: ["a/*"]}\nlimits:', file: true, tool: true },
  {
    name: 'how much a run may use up',
    from: 'limits:',
    to: 'runs: {limits: {cpus: 1}}\nlimits:',
    file: true,
    tool: true,
  },
  { name: 'this tool denied', from: 'tool: curl', to: 'tool: "*"', file: true, tool: true },
  {
    name: 'this tool denied on a path',
    from: 'tool: curl',
    to: 'paths: [x], tool: "file_*"',
    file: true,
    tool: true,
  },
  { name: 'another path denied', from: 'path: secrets', to: 'path: secret', file: true, tool: true },
  { name: 'a question made a denial', from: 'write: ask', to: 'write: deny', file: true, tool: true },
  { name: 'a command less', from: "'^npm'", to: "'^npx'", file: true, tool: true },
  { name: 'a host more', from: '[b.org', to: '[c.org, b.org', file: true, tool: true },
  { name: 'a limit', from: '1000', to: '2000', file: true, tool: true },
  { name: 'push', from: 'limits:', to: 'git: {allow_push: true}\nlimits:', file: true, tool: true },
  { name: 'the sandbox', from: 'limits:', to: 'sandbox: optional\nlimits:', file: true, tool: true },
];

describe('the hash of a policy', () => {
  for (const { name, from, to, file, tool } of EDITS) {
    it(`${file ? 'changes' : 'stays'} with ${name}; that for a tool ${tool ? 'changes' : 'stays'}`, async () => {
      const edited = BASE.replace(from, to);
      assert.notEqual(edited, BASE, 'the edit changes the text');
      const before = await engineFrom(BASE);
      const after = await engineFrom(edited);
      assert.equal(before.hash !== after.hash, file, 'whole file');
      assert.equal(before.hashFor('file_read') !== after.hashFor('file_read'), tool, 'file_read');
    });
  }

  it('is a digest, the same each time, and pinned', async () => {
    const engine = await engineFrom('');
    assert.match(engine.hash, /^[0-9a-f]{64}$/);
    assert.equal(engine.hash, (await engineFrom('')).hash);
    assert.equal(engine.hashFor('a'), engine.hashFor('a'));
    assert.equal(engine.hashFor('a'), engine.hashFor('b'), 'nothing here tells the tools apart');
    assert.notEqual(engine.hash, engine.hashFor('a'));
    assert.equal(engine.hash, 'ad68a6c169a85ba72750a4b5f0fe202c8e1079cac9837d525726a84cb69937bd');
  });

  it('knows on which paths a tool is granted where the default denies', async () => {
    const hashFor = async (rules: string) =>
      (await engineFrom(`tools: {default: deny, rules: [${rules}]}`)).hashFor('t');
    const onA = await hashFor('{tool: t, paths: [a], decision: allow}');
    assert.notEqual(onA, await hashFor('{tool: t, paths: [b], decision: allow}'));
    assert.notEqual(onA, await hashFor('{tool: t, decision: allow}'));
    assert.notEqual(onA, await hashFor(''));
    assert.equal(onA, await hashFor('{tool: t, paths: [a], decision: allow}, {tool: u, decision: allow}'));
    assert.notEqual(onA, await hashFor('{tool: t, paths: [a], decision: ask}'), 'closed to programs');
  });

  it('counts what a session narrows, and nothing else of it', async () => {
    const narrowed = async (session: Omit<PolicyFile, 'version'>) =>
      await engineFrom(BASE, [{ version: 1, ...session }]);
    const host = await engineFrom(BASE);
    const budget = await narrowed({ budgets: { calls: 1 } });
    assert.notEqual(budget.hash, host.hash);
    assert.equal(budget.hashFor('file_read'), host.hashFor('file_read'));
    const paths = await narrowed({ paths: { rules: [{ path: 'x', read: 'deny' }] } });
    assert.notEqual(paths.hashFor('file_read'), host.hashFor('file_read'));
    const limit = await narrowed({ limits: { timeout_ms: 5 } });
    assert.notEqual(limit.hashFor('file_read'), host.hashFor('file_read'));
  });
});
