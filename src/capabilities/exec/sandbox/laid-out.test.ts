// Owns: sandboxes that are laid out before their program is known: that a program cannot tell, and that none is left.
// Refuses: to measure what they save; the benchmarks do.
import assert from 'node:assert/strict';
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmdirSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { type Fixture, identities, withSandbox } from './probes.ts';

/** Runs two programs that are alike, and answers with the sandbox that is then there for a third. */
async function layOut({ sh, workspace }: Fixture, spec?: Parameters<Fixture['sh']>[1]): Promise<string> {
  for (let n = 0; n < 2; n++) assert.equal((await sh('true', { ...spec, expectAnother: true })).code, 0);
  for (;;) {
    const [found] = waiting(workspace);
    if (found) return found;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** The pid namespaces of sandboxes on this workspace without a program, once they stand. */
function waiting(workspace: string): string[] {
  return readdirSync('/proc').flatMap((pid) => {
    try {
      const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').slice(0, -1);
      const inside = words.at(-1) === 'haft' && !words[0]!.endsWith('bwrap');
      const here = readFileSync(`/proc/${pid}/mountinfo`, 'utf8').includes(escaped(workspace));
      return inside && here ? [readlinkSync(`/proc/${pid}/ns/pid`)] : [];
    } catch {
      return [];
    }
  });
}

/** As the table of mounts writes it. */
const escaped = (path: string): string => path.replaceAll(' ', '\\040');

/** A sandbox that was made for its program has it among the words of its first process. */
const HOW = "tr '\\0' ' ' </proc/1/cmdline | grep -q 'haft sh' && echo 'for it' || echo 'laid out'";

for (const identity of identities()) {
  describe(`a sandbox that was laid out (${identity})`, () => {
    it('serves the next program that is alike, once', async () => {
      await withSandbox({ identity }, async (fixture) => {
        const namespace = await layOut(fixture);
        const line = `${HOW}; readlink /proc/self/ns/pid; printf '<%s>' "a'b \\$" '' "  c "; exit 3`;
        const { out, code } = await fixture.sh(line);
        assert.deepEqual([out, code], [`laid out\n${namespace}\n<a'b $><><  c >`, 3]);
      });
    });

    it('is not taken for a program that is not alike', async () => {
      const files = { 'd/f': 'in d\n' };
      await withSandbox({ identity, files }, async (fixture) => {
        const { sh, sandbox } = fixture;
        const others = [
          [{ cwd: 'd' }, 'cat f', 'in d\n'],
          [{ env: { ...sandbox.baseEnv, X: 'x' } }, 'echo $X', 'x\n'],
          [{ stdin: 'fed\n' }, 'cat', 'fed\n'],
          [{ hidden: ['d'] }, 'ls d 2>/dev/null; echo hidden', 'hidden\n'],
          [{ writable: [] }, 'touch g 2>/dev/null || echo no', 'no\n'],
          [{}, `: ${'x'.repeat(2000)}; echo long`, 'long\n'],
          [{}, 'echo two\necho lines', 'two\nlines\n'],
          [{}, 'echo äāÿ\u0085', 'äāÿ\u0085\n'],
        ] as const;
        for (const [spec, line, out] of others) {
          await layOut(fixture);
          const result = await sh(`${HOW}; ${line}`, spec);
          assert.equal(result.out, `for it\n${out}`);
        }
      });
    });

    it('is not taken when what it shows is no longer what is there', async () => {
      const files = { 'haft.yaml': 'old\n', 'd/f': 'old\n' };
      await withSandbox({ identity, files }, async (fixture) => {
        const { sh, workspace } = fixture;
        await layOut(fixture);
        writeFileSync(join(workspace, 'new.yaml'), 'new\n', { mode: 0o666 });
        renameSync(join(workspace, 'new.yaml'), join(workspace, 'haft.yaml'));
        assert.equal((await sh('cat haft.yaml; echo x >>haft.yaml')).out, 'new\n');
        assert.equal(readFileSync(join(workspace, 'haft.yaml'), 'utf8'), 'new\n');

        await layOut(fixture, { cwd: 'd' });
        renameSync(join(workspace, 'd'), join(workspace, 'was-d'));
        mkdirSync(join(workspace, 'd'), { mode: 0o777 });
        assert.equal((await sh('ls', { cwd: 'd' })).out, '');
        rmdirSync(join(workspace, 'd'));
      });
    });

    it('is protected where something to protect has come since', async () => {
      await withSandbox({ identity }, async (fixture) => {
        const { sh, workspace } = fixture;
        await layOut(fixture);
        writeFileSync(join(workspace, 'haft.yaml'), 'policy\n', { mode: 0o666 });
        const { out } = await sh(`${HOW}; (echo x >>haft.yaml) 2>/dev/null || echo protected`);
        assert.equal(out, 'for it\nprotected\n');
      });
    });

    it('is not made where none is expected: the environment of a program ends with it', async () => {
      await withSandbox({ identity }, async ({ sandbox, sh, workspace }) => {
        const env = { ...sandbox.baseEnv, TOKEN: 'secret-of-one-call' };
        for (let n = 0; n < 3; n++) assert.equal((await sh('true', { env })).code, 0);
        assert.deepEqual(of(workspace), []);
      });
    });

    it('ends with its handle, at whatever point of its making', async () => {
      let workspace = '';
      for (let turn = 0; turn < 12; turn++) {
        await withSandbox({ identity }, async (fixture) => {
          workspace = fixture.workspace;
          for (let n = 0; n < 2; n++) await fixture.sh('true', { expectAnother: true });
          const until = performance.now() + turn / 2;
          while (performance.now() < until) await new Promise((resolve) => setImmediate(resolve));
        });
        assert.deepEqual(of(workspace), []);
      }
    });
  });
}

/** Processes that were made for a sandbox on this workspace. */
const of = (workspace: string): string[] =>
  readdirSync('/proc').filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes(workspace);
    } catch {
      return false;
    }
  });
