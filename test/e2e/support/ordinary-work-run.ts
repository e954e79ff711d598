// Owns: a process that does ordinary work in the sandbox, piece after piece, and says of each how it went.
// Refuses: to take an exit code for a product: both are looked at, and what the audit has.
// usage: ordinary-work-run.ts network|plain NAME…
import { execFileSync } from 'node:child_process';
import { lstatSync } from 'node:fs';
import { renderPolicy } from '../../../src/hosts/cli/init-policy.ts';
import { PROJECT_KINDS } from '../../../src/hosts/cli/init-projects.ts';
import { createRuntime, type DefaultRuntime } from '../../../src/index.ts';
import { inTime } from './in-time.ts';
import { type PackageRegistry, startRegistry } from './ordinary-work/registry.ts';
import { WORKS, type Work, type WorkStep } from './ordinary-work/works.ts';
import { makeWorkspace, type Workspace } from './workspace.ts';

/** One line of output. */
export interface WorkReport {
  readonly name: string;
  readonly problems: readonly string[];
  readonly ms: number;
}

interface Site {
  readonly runtime: DefaultRuntime;
  readonly workspace: Workspace;
  readonly registry: PackageRegistry;
}

async function main(network: boolean, names: readonly string[]): Promise<void> {
  const registry = await startRegistry(network);
  const works = WORKS.filter(({ name }) => names.includes(name));
  const workspace = makeWorkspace({ 'haft.yaml': policyOf(works, registry) });
  for (const work of works) {
    for (const [file, text] of Object.entries(work.files(registry)))
      workspace.put(`${folderOf(work)}/${file}`, text);
  }
  if (names.includes('git log')) commit(workspace);
  const runtime = await createRuntime({ workspace: workspace.root });
  try {
    for (const work of works) {
      const started = performance.now();
      const problems = await inTime(doWork({ runtime, workspace, registry }, work), work.name, 240_000);
      const report = { name: work.name, problems, ms: Math.round(performance.now() - started) };
      process.stdout.write(`${JSON.stringify(report satisfies WorkReport)}\n`);
    }
  } finally {
    await runtime.close();
    await registry.close();
    workspace.remove();
  }
}

const folderOf = ({ name }: Work): string => name.replaceAll(/\W+/g, '-');

/** What `haft init` writes, and the registry and the programs that the work builds. */
function policyOf(works: readonly Work[], { domain }: PackageRegistry): string {
  const patterns = [...new Set(works.flatMap(({ allow }) => allow))].map((one) => `  - '${one}'\n`);
  return renderPolicy(PROJECT_KINDS.map((kind) => ({ kind, folders: [''] })))
    .replace('shell_allow:\n', () => `shell_allow:\n${patterns.join('')}`)
    .replace('allowed_domains: []', () => `allowed_domains: [${JSON.stringify(domain)}]`);
}

/** A repository with one commit, and one change since. */
function commit(workspace: Workspace): void {
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=Ann', '-c', 'user.email=ann@example.org', ...args], {
      cwd: workspace.root,
      stdio: 'pipe',
    });
  git('init', '-q', '-b', 'main', '.');
  workspace.put('git-log/tracked.txt', 'first\n');
  git('add', 'git-log/tracked.txt');
  git('commit', '-q', '-m', 'first commit');
  workspace.put('git-log/tracked.txt', 'changed\n');
}

async function doWork(site: Site, work: Work): Promise<string[]> {
  for (const step of work.steps) {
    const problems = await doStep(site, work, step);
    if (problems.length > 0) return problems; // what follows needs it
  }
  const { workspace } = site;
  const owner = lstatSync(workspace.root).uid;
  return work.products.flatMap((product) => {
    const stat = lstatSync(workspace.path(`${folderOf(work)}/${product}`), { throwIfNoEntry: false });
    if (!stat) return [`${product} is not there`];
    return stat.uid === owner ? [] : [`${product} belongs to ${stat.uid}`];
  });
}

async function doStep({ runtime, registry }: Site, work: Work, step: WorkStep): Promise<string[]> {
  const { cmd, network = false } = step;
  const args = { cmd, cwd: folderOf(work), allow_network: network, timeout_ms: 200_000 };
  const response = await runtime.call({ tool: 'shell_exec', args });
  if (!response.ok) return [`${cmd} did not run: ${JSON.stringify(response.errors)}`];
  const { code, stdout, stderr } = response.data as { code: number; stdout: string; stderr: string };
  const said = `${stdout.slice(-2000)}\n${stderr.slice(-2000)}`;
  if (code !== 0) return [`${cmd} ended with ${code}: ${said}`];
  const problems: string[] = [];
  if (step.prints && !step.prints.test(stdout)) problems.push(`${cmd} printed ${said}`);
  const rows = await runtime.audit.rows({ callId: response.callId, limit: 10 });
  const row = rows.find(({ phase }) => phase === 'outcome');
  const facts = row?.facts as Facts | undefined;
  if (row?.outcome !== 'ok' || facts?.exit !== 0) problems.push(`${cmd} has the row ${JSON.stringify(row)}`);
  if (facts?.sandbox?.seccomp !== 2) problems.push(`${cmd} ran in ${JSON.stringify(facts?.sandbox)}`);
  if (network) {
    const host = new URL(registry.url).hostname;
    const connected = facts?.connections?.filter((one) => one.host === host) ?? [];
    if (connected.length === 0)
      problems.push(`${cmd} has the connections ${JSON.stringify(facts?.connections)}`);
    if (!registry.asked.some((path) => path.endsWith('.tgz')))
      problems.push(`${cmd} did not ask for the package`);
  }
  return problems;
}

interface Facts {
  readonly exit?: number;
  readonly sandbox?: { readonly seccomp: number };
  readonly connections?: readonly { readonly host: string }[];
}

if (import.meta.main) await main(process.argv[2] === 'network', process.argv.slice(3));
