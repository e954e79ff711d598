// Owns: the programs beside bubblewrap that Haft or its tools can use: what each is for, whether it is here, its version.
// Refuses: to call a machine broken because one is missing; what needs it says so when it is called.
import { BACKENDS } from '../backends/index.ts';
import { installHint, lookUpProgram, versionOf } from '../capabilities/exec/look-up-program.ts';
import { findRipgrep } from '../capabilities/search/ripgrep/run-ripgrep.ts';
import type { BackendProgram } from '../contract/backend.ts';
import type { Finding } from '../contract/operation-handles.ts';
import { probeBackends } from './runs/probe-backends.ts';

interface KnownProgram extends Pick<BackendProgram, 'name' | 'command' | 'neededFor' | 'packageName'> {
  readonly version?: readonly string[];
}

const VERSION = ['--version'];

const program = (name: string, command: string, neededFor: string, packageName = command): KnownProgram => ({
  name,
  command,
  neededFor,
  packageName,
});

const PROGRAMS: readonly KnownProgram[] = [
  program('bash', 'bash', 'shell_exec'),
  program('git', 'git', 'git commands in shell_exec'),
  program('perl', 'perl', "root's workspaces: programs then do not run as root outside"),
  program('setpriv', 'setpriv', 'sandboxes that are started by root', 'util-linux'),
  program('python3', 'python3', 'tools of packs with runtime python, and servers written in it'),
  program('php', 'php', 'tools of packs with runtime php', 'php-cli'),
  program('npx', 'npx', 'MCP servers that npx starts', 'npm'),
];

export async function diagnosePrograms(workspace: string): Promise<readonly Finding[]> {
  const own: Finding = {
    name: 'program: node',
    state: 'ok',
    evidence: `${process.versions.node}, that of Haft; for tools of packs with runtime node, and servers written in it`,
  };
  return [
    own,
    await ripgrep(workspace),
    ...(await Promise.all(PROGRAMS.map((one) => find(one, workspace)))),
    ...(await Promise.all(
      BACKENDS.flatMap(({ name, programs }) =>
        (programs?.() ?? []).map((one) =>
          one.reach ? findEngine(name, one, workspace) : find(one, workspace),
        ),
      ),
    )),
  ];
}

async function find(
  { name, command, version = VERSION, neededFor, packageName }: KnownProgram,
  workspace: string,
): Promise<Finding> {
  const seen = await lookUpProgram(command, version, { workspace });
  return seen
    ? { name: `program: ${name}`, state: 'ok', evidence: `${said(seen.version)}; for ${neededFor}` }
    : absent(name, `needed only for ${neededFor}`, packageName);
}

/** The engine is used, over its socket; the command only tells that it is installed. */
async function findEngine(backend: string, program: BackendProgram, workspace: string): Promise<Finding> {
  const { name, command, neededFor, packageName, start = '' } = program;
  const runs = { backend, [backend]: program.reach?.(process.env) };
  const [answer] = await probeBackends(runs, { folder: `${workspace}/.haft`, env: process.env });
  if (answer?.ok)
    return { name: `program: ${name}`, state: 'ok', evidence: `${answer.evidence}; for ${neededFor}` };
  const seen = await lookUpProgram(command, VERSION, { workspace });
  if (!seen) return absent(name, `needed only for ${neededFor}`, packageName);
  return {
    name: `program: ${name}`,
    state: 'absent',
    evidence: `installed (${seen.version ?? 'of unknown version'}), but no engine answers; needed only for ${neededFor}`,
    fix: start,
  };
}

async function ripgrep(workspace: string): Promise<Finding> {
  const path = await findRipgrep([workspace]);
  return path === undefined
    ? absent('ripgrep', 'grep searches with code of its own, more slowly', 'ripgrep')
    : {
        name: 'program: ripgrep',
        state: 'ok',
        evidence: `${said(await versionOf(path, ['--version']))}; for grep, which is slower without it`,
      };
}

const absent = (name: string, consequence: string, packageName: string): Finding => ({
  name: `program: ${name}`,
  state: 'absent',
  evidence: `not found; ${consequence}`,
  fix: installHint(packageName),
});

const said = (version: string | undefined): string => version ?? 'it is here, and does not say its version';
