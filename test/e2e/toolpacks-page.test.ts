// Owns: that docs/toolpacks.md works as pasted: its blocks are taken out of the page and run, on a real Docker and a real Slurm.
// Refuses: lines of its own beyond what the page tells in words: tagging an image, and trusting what was written.
import assert from 'node:assert/strict';
import { appendFileSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { withDocker } from '../../scripts/engines/with-docker.ts';
import { withSlurm } from '../../scripts/engines/with-slurm.ts';
import '../../src/preset/trust/trust-for-tests.ts';
import { type Shell, shellWithHaft } from './support/haft-on-path.ts';

const docker = withDocker();
const slurm = withSlurm();
const skip = docker.skip || slurm.skip;

const ROOT = join(import.meta.dirname, '../..');
const PAGE = readFileSync(join(ROOT, 'docs/toolpacks.md'), 'utf8');

/** The blocks of a section, in their order. */
function blocksOf(title: string): readonly { readonly language: string; readonly text: string }[] {
  const section = PAGE.split(/^## /m).find((one) => one.startsWith(`${title}\n`)) ?? '';
  const blocks = [...section.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)];
  assert.ok(blocks.length > 0, `no blocks in "${title}"`);
  return blocks.map(([, language = '', text = '']) => ({ language, text }));
}

const TRUST = 'haft trust --sha256 "$(sha256sum haft.yaml | cut -d " " -f 1)"';

async function inEmptyFolder(
  use: (shell: Shell, folder: string, env: Readonly<Record<string, string>>) => void,
): Promise<void> {
  const [engine, cluster] = [await docker.engine(), await slurm.engine()];
  const folder = realpathSync.native(mkdtempSync(join(tmpdir(), 'haft-page-')));
  const programs = mkdtempSync(join(tmpdir(), 'haft-programs-'));
  try {
    engine.docker('tag', 'haft/busybox:1', 'busybox:1.36');
    const env = {
      DOCKER_HOST: `unix://${engine.socket}`,
      SLURM_CONF: cluster.env.SLURM_CONF as string,
      HAFT: ROOT,
    };
    use(shellWithHaft(programs, folder), folder, env);
  } finally {
    rmSync(folder, { recursive: true, force: true });
    rmSync(programs, { recursive: true, force: true });
  }
}

describe('docs/toolpacks.md, as pasted', { skip }, () => {
  it('the first five minutes: on this machine, on Docker, on Slurm', () =>
    inEmptyFolder((shell, folder, env) => {
      const policy = join(folder, 'haft.yaml');
      const answers = [];
      for (const { language, text } of blocksOf('The first five minutes')) {
        if (language === 'yaml') {
          appendFileSync(policy, text);
          shell.paste(TRUST, env);
        } else answers.push(shell.paste(text, env));
      }
      const [onLocal = '', onDocker = '', checked = ''] = answers;
      const result = { bytes: 19, words: 4 };
      assert.deepEqual(JSON.parse(onLocal.trim().split('\n').at(-1)!).data.result, result);
      const made = JSON.parse(onDocker);
      assert.deepEqual([made.replayed, made.data.result], [false, result]);
      assert.match(shell.paste(`haft runs show ${made.run_id}`, env), /docker/);
      assert.match(checked, /my_tool: fine/);

      const [, line] = /On Slurm the line is `(.+?)`, and `--backend slurm`/.exec(PAGE) ?? assert.fail();
      writeFileSync(policy, readFileSync(policy, 'utf8').replace(/^runs: .*$/m, line as string));
      shell.paste(TRUST, env);
      const there = JSON.parse(
        shell.paste(`haft call my_tool '{"text":"the quick brown dog"}' --backend slurm`, env),
      );
      assert.deepEqual([there.replayed, there.data.result], [false, result]);
    }));

  it('the refusal of an argument', () =>
    inEmptyFolder((shell, folder, env) => {
      shell.paste('haft toolpack new my_tool', env);
      const [block] = blocksOf('What the module defines');
      assert.equal(block?.language, 'ts');
      writeFileSync(join(folder, 'my_tool/column.ts'), block.text);
      const module = join(folder, 'my_tool/toolpack.ts');
      writeFileSync(module, `import './column.ts';\n${readFileSync(module, 'utf8')}`);
      assert.match(shell.paste('haft toolpack check my_tool', env), /my_tool: fine/);
    }));

  it('the toolpacks to begin with, hybrid on Docker and Slurm', () =>
    inEmptyFolder((shell, folder, env) => {
      // One shell: what one block sets another uses.
      const lines = blocksOf('Toolpacks to begin with').map(({ text }) => text);
      const said = shell.paste(lines.join('\n'), env);
      const [first, second] = ['first.json', 'second.json'].map((name) =>
        JSON.parse(readFileSync(join(folder, name), 'utf8')),
      );
      assert.deepEqual([first.ok, first.replayed], [true, false]);
      assert.deepEqual([second.replayed, second.run_id], [true, first.run_id]);
      assert.match(said, /sorted +identical/);
      const shown = shell.paste(`haft runs show ${first.run_id}`, env);
      assert.match(shown, /docker/);
      assert.match(shown, /slurm/);
      const packs = ['table_sort', 'checksum_tree', 'fastq_stats'];
      for (const name of packs)
        assert.match(shell.paste(`haft toolpack check toolpacks/${name}`, env), new RegExp(`${name}: fine`));
    }));
});
