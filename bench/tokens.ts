// Owns: `node bench/tokens.ts`: what `tools/list` costs a model, in tokens of o200k_base, per tool and in all; `--write` puts the table into the docs.
// Refuses: to estimate: what a client is sent is counted, field names and braces included.
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { listTools } from '../src/hosts/mcp/list-tools.ts';
import type { Profile } from '../src/hosts/mcp/view.ts';
import { createDefaultRuntime } from '../src/preset/default.ts';
import { ROOT } from './product.ts';

/** Of a list with schemas of answers and descriptions for people, as it was until profiles came. */
const BEFORE: Readonly<Record<string, number>> = {
  ...{ artifact_get: 580, artifact_import: 350, artifact_list: 422, artifact_preview: 343, curl: 855 },
  ...{ docker_job_get: 556, file_patch: 1049, file_read: 636, file_write: 809, fs_copy: 668 },
  ...{ fs_delete: 483, fs_list: 398, fs_move: 593, grep: 1111, proc_list: 381, shell_exec: 614 },
  ...{ slurm_job_cancel: 543, slurm_job_collect: 330, slurm_job_get: 565, slurm_submit: 706, undo: 552 },
};
const BEFORE_IN_ALL = 12_546;

export const GOALS = { perTool: 170, defaultProfile: 4_500 } as const;

/** Every builtin can be used under it. */
const POLICY =
  "version: 1\nshell_allow: ['^true$']\nnetwork: { allowed_domains: [example.com] }\nruns: { backends: [docker, slurm] }\n";

export interface TokenCount {
  /** Of the whole list. */
  readonly total: number;
  readonly tools: ReadonlyMap<string, number>;
}

export async function countListedTokens(): Promise<Readonly<Record<Profile, TokenCount>>> {
  const workspace = mkdtempSync(join(tmpdir(), 'haft-tokens-'));
  try {
    writeFileSync(join(workspace, 'haft.yaml'), POLICY);
    const trust = createHash('sha256').update(POLICY).digest('hex');
    const runtime = await createDefaultRuntime({ workspace, trust });
    const count = (profile: Profile): TokenCount => {
      const list = listTools(runtime, { profile, outputSchemas: false });
      const tools = (JSON.parse(list) as { readonly name: string }[]).map(
        (tool) => [tool.name, countTokens(JSON.stringify(tool))] as const,
      );
      return { total: countTokens(list), tools: new Map(tools) };
    };
    const counts = { all: count('all'), default: count('default'), searchable: count('searchable') };
    await runtime.close();
    return counts;
  } finally {
    rmSync(workspace, { recursive: true, force: true });
  }
}

function report({ all, default: usual, searchable }: Readonly<Record<Profile, TokenCount>>): string {
  const number = (n: number) => n.toLocaleString('en');
  const rows = [...all.tools].map(([name, now]) => {
    const before = BEFORE[name];
    return `| \`${name}\` | ${before === undefined ? '' : number(before)} | ${number(now)} | ${usual.tools.has(name) ? 'yes' : ''} |`;
  });
  const average = (count: TokenCount) => Math.round(count.total / count.tools.size);
  const before = Math.round(BEFORE_IN_ALL / Object.keys(BEFORE).length);
  return [
    '| tool | before | now | in the default profile |',
    '|---|---|---|---|',
    ...rows,
    `| **all, ${all.tools.size} tools** | ${number(BEFORE_IN_ALL)} | ${number(all.total)} | |`,
    `| **a tool of those, on average** | ${before} | ${average(all)} | |`,
    `| **profile \`default\`, ${usual.tools.size} tools** | ${number(BEFORE_IN_ALL)} | ${number(usual.total)} | |`,
    `| **profile \`searchable\`, ${searchable.tools.size} tools** | | ${number(searchable.total)} | |`,
  ].join('\n');
}

const PAGE = join(ROOT, 'docs/reference/mcp.md');
const MARKS = ['<!-- tokens: by bench/tokens.ts -->', '<!-- /tokens -->'] as const;

if (import.meta.main) {
  const counts = await countListedTokens();
  const table = report(counts);
  process.stdout.write(`${table}\n`);
  if (process.argv.includes('--write')) {
    const [head = '', rest = ''] = readFileSync(PAGE, 'utf8').split(MARKS[0]);
    const tail = rest.split(MARKS[1])[1] ?? '';
    writeFileSync(PAGE, `${head}${MARKS[0]}\n\n${table}\n\n${MARKS[1]}${tail}`);
  }
  const { all, default: usual } = counts;
  const isMet = all.total / all.tools.size <= GOALS.perTool && usual.total <= GOALS.defaultProfile;
  const goals = `at most ${GOALS.perTool} tokens a tool on average, ${GOALS.defaultProfile} for the default profile`;
  process.stdout.write(`\n${isMet ? 'Met' : 'MISSED'}: ${goals}\n`);
  process.exitCode = isMet ? 0 : 1;
}
