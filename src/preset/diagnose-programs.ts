// Owns: the programs beside bubblewrap that Haft or its tools can use: what each is for, whether it is here, its version.
// Refuses: to call a machine broken because one is missing; what needs it says so when it is called.
import { installHint } from '../capabilities/exec/install-hint.ts';
import { lookUpProgram, versionOf } from '../capabilities/exec/look-up-program.ts';
import { findRipgrep } from '../capabilities/search/ripgrep/find-ripgrep.ts';
import type { Finding } from '../contract/operation-handles.ts';
import { probeBackends } from './runs/probe-backends.ts';

interface KnownProgram {
  readonly name: string;
  readonly command: string;
  readonly version: readonly string[];
  readonly neededFor: string;
  /** As most distributions call it. */
  readonly packageName: string;
}

const program = (
  name: string,
  command: string,
  neededFor: string,
  packageName = command,
  version: readonly string[] = ['--version'],
): KnownProgram => ({ name, command, version, neededFor, packageName });

const PROGRAMS: readonly KnownProgram[] = [
  program('bash', 'bash', 'shell_exec'),
  program('git', 'git', 'git commands in shell_exec'),
  program('perl', 'perl', "root's workspaces: programs then do not run as root outside"),
  program('setpriv', 'setpriv', 'sandboxes that are started by root', 'util-linux'),
  program('python3', 'python3', 'tools of packs with runtime python, and servers written in it'),
  program('php', 'php', 'tools of packs with runtime php', 'php-cli'),
  program('npx', 'npx', 'MCP servers that npx starts', 'npm'),
  program('Slurm', 'sbatch', 'runs on a cluster (runs: backend slurm)', 'slurm-client'),
];

/** Of these the engine is used, over its socket; the command only tells that it is installed. */
interface Engine extends KnownProgram {
  /** Undefined: where DOCKER_HOST says, or Docker's usual place. */
  socket(): string | undefined;
  readonly start: string;
}

const ENGINES: readonly Engine[] = [
  {
    ...program('Docker', 'docker', 'runs in containers (runs: backend docker)', 'docker.io'),
    socket: () => undefined,
    start: 'Start it: systemctl start docker; or name its socket (runs: docker.socket, or DOCKER_HOST)',
  },
  {
    ...program('Podman', 'podman', 'runs in containers, in the place of Docker (runs: docker.socket)'),
    socket: () =>
      process.getuid?.() === 0 || process.env.XDG_RUNTIME_DIR === undefined
        ? '/run/podman/podman.sock'
        : `${process.env.XDG_RUNTIME_DIR}/podman/podman.sock`,
    start: 'Start it: systemctl start podman.socket (an ordinary user: systemctl --user start podman.socket)',
  },
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
    ...(await Promise.all(ENGINES.map((one) => findEngine(one, workspace)))),
  ];
}

async function find(
  { name, command, version, neededFor, packageName }: KnownProgram,
  workspace: string,
): Promise<Finding> {
  const seen = await lookUpProgram(command, version, { workspace });
  return seen
    ? { name: `program: ${name}`, state: 'ok', evidence: `${said(seen.version)}; for ${neededFor}` }
    : absent(name, `needed only for ${neededFor}`, packageName);
}

async function findEngine(engine: Engine, workspace: string): Promise<Finding> {
  const { name, command, version, neededFor, packageName, start } = engine;
  const socket = engine.socket();
  const runs = { backend: 'docker', ...(socket === undefined ? {} : { docker: { socket } }) } as const;
  const [answer] = await probeBackends(runs, { folder: `${workspace}/.haft`, env: process.env });
  if (answer?.ok)
    return { name: `program: ${name}`, state: 'ok', evidence: `${answer.evidence}; for ${neededFor}` };
  const seen = await lookUpProgram(command, version, { workspace });
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
