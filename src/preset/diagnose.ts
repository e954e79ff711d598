// Owns: the checks of `haft doctor`, each proven by trying the thing itself; an engine of runs is asked whether it answers.
// Refuses: to leave anything behind but the workspace's own state folder.
import { BACKENDS } from '../backends/index.ts';
import { newId } from '../base/new-id.ts';
import { shownSize } from '../base/shown-size.ts';
import { installHint, lookUpProgram, versionOf } from '../capabilities/exec/look-up-program.ts';
import { findRipgrep } from '../capabilities/search/ripgrep/run-ripgrep.ts';
import type { BackendProgram } from '../contract/backend.ts';
import { formatDiagnostic } from '../contract/diagnostic.ts';
import { toErrorEntry } from '../contract/errors.ts';
import type { Finding, StateSizes } from '../contract/operation-handles.ts';
import type { RunsPolicy } from '../contract/policy.ts';
import { backendsInUse } from '../contract/policy-match.ts';
import { openToLook } from '../loader/empty-state.ts';
import { outerFolders } from '../loader/haft-yaml/outer-folders.ts';
import { hasState } from '../loader/workspace.ts';
import { belowOuter } from './adopt-policy.ts';
import { createDefaultRuntime, type DefaultRuntime, type DefaultRuntimeOptions } from './default.ts';
import { loadPolicy } from './load-policy.ts';
import { backendSite, inTime } from './runs/run-parts.ts';
import { givenTrust, judgeTrust } from './trust/trust.ts';

type Check = (workspace: string) => Promise<Omit<Finding, 'name'>>;

const CHECKS: Readonly<Record<string, Check>> = {
  'Node.js': async () => ({
    state: 'ok',
    evidence: `${process.versions.node} on ${process.platform} ${process.arch}`,
  }),
  'safe paths': async () =>
    process.platform === 'linux'
      ? { state: 'ok', evidence: 'what is opened is what was checked, through /proc/self/fd' }
      : {
          state: 'weaker',
          evidence: `${process.platform} has no /proc/self/fd: links are resolved before and after each access`,
          fix: 'Run Haft on Linux where other processes may change the workspace during a call.',
        },
  policy: async (workspace) => {
    const own = await loadPolicy(workspace);
    const { value } = own;
    const judged = value && (await judgeTrust(workspace, value, givenTrust(undefined)));
    if (judged?.trusted === false)
      return {
        state: 'failed',
        evidence: `${value?.name} is not trusted on this machine: nothing can be called`,
        fix: 'haft trust',
      };
    const { diagnostics } = await belowOuter(workspace, own);
    const lines = diagnostics.map(formatDiagnostic).join('\n    ');
    if (!value)
      return { state: 'failed', evidence: `haft.yaml has problems\n    ${lines}`, fix: 'haft policy check' };
    return {
      state: 'ok',
      evidence: `${value.name} loads${await describeOuter(workspace)}${lines ? `\n    ${lines}` : ''}`,
    };
  },
  packs: async (workspace) => {
    const wrong: string[] = [];
    const onBrokenPack = (message: string) => void wrong.push(message);
    const runtime = await lookWith({ workspace, untrusted: 'closed', onBrokenPack });
    try {
      const packs = runtime.installations.all();
      const tools = packs.reduce((sum, pack) => sum + pack.tools.length, 0);
      if (wrong.length === 0) return { state: 'ok', evidence: `${packs.length} packs open, ${tools} tools` };
      const what = wrong.length === 1 ? 'a pack is wrong' : `${wrong.length} packs are wrong`;
      return {
        state: 'failed',
        evidence: `${what}: calls are refused until that is put right\n    ${wrong.join('\n').replaceAll('\n', '\n    ')}`,
        fix: 'haft tools check DIR',
      };
    } finally {
      await runtime.close();
    }
  },
  'state folder': (workspace) =>
    withState(workspace, async ({ audit, objects }) => {
      const head = await audit.head();
      const object = await objects.put(new TextEncoder().encode('haft doctor\n'));
      return {
        state: (await objects.verify(object)) === 'ok' ? 'ok' : 'failed',
        evidence: `${hasState(workspace) ? '.haft opens' : 'the first call makes .haft'}, ${head.count} audit rows, the object store keeps and verifies bytes`,
      };
    }),
  'state size': (workspace) =>
    withState(workspace, async (runtime) => {
      const evidence = describeSizes(await runtime.sizes()).join('\n    ');
      const due = await dueRows(runtime);
      if (due === 0) return { state: 'ok', evidence };
      const fact = `${due} rows of the audit are more than audit.keep says: no host was idle here since`;
      return { state: 'ok', evidence: `${evidence}\n    ${fact}; "haft gc" moves them into segments` };
    }),
  audit: (workspace) =>
    withState(workspace, async ({ audit }) => {
      const verdict = await audit.verify();
      if (!verdict.ok)
        return {
          state: 'failed',
          evidence: `row ${verdict.seq}: ${verdict.problem}`,
          fix: 'haft audit verify --head …',
        };
      const { checkKeptHead, isBroken } = await import('./kept-head.ts');
      const kept = await checkKeptHead(workspace, audit);
      const state = isBroken(kept) ? 'failed' : kept.state === 'behind' ? 'weaker' : 'ok';
      return {
        state,
        evidence: `all ${verdict.head.count} rows verify\n    ${kept.message}`,
        ...(state === 'ok' ? {} : { fix: 'haft audit verify' }),
      };
    }),
};

/** A look leaves no `.haft` behind. */
const lookWith = (options: DefaultRuntimeOptions & { readonly workspace: string }) =>
  openToLook(options.workspace, (state) => createDefaultRuntime(options, state));

/** With what is recorded there, whatever the policy and the packs are. */
async function withState<T>(workspace: string, use: (runtime: DefaultRuntime) => Promise<T>): Promise<T> {
  const options = { workspace, untrusted: 'closed', serversMs: 0, onBrokenPack: () => {} } as const;
  const runtime = await lookWith(options);
  try {
    return await use(runtime);
  } finally {
    await runtime.close();
  }
}

async function dueRows(runtime: DefaultRuntime): Promise<number> {
  try {
    return (await runtime.cleanUp({ dryRun: true })).archived.rows;
  } catch {
    // The policy is not trusted: what is due is not known.
    return 0;
  }
}

/** A line for each thing that has a size. */
function describeSizes(sizes: StateSizes): readonly string[] {
  const { total, database, free, rows, archivedRows, segments, segmentBytes, objects } = sizes;
  const others = {
    'folders of runs': sizes.runs,
    quarantine: sizes.quarantine,
    'copies of packs': sizes.packs,
  };
  return [
    `.haft is ${shownSize(total)}`,
    `database: ${shownSize(database)}, of which ${shownSize(free)} is free; ${rows} rows of the audit are in it`,
    `audit segments: ${archivedRows} rows in ${segments} files, ${shownSize(segmentBytes)}`,
    `objects: ${shownSize(objects.undo)} for undo, ${shownSize(objects.runs)} of runs, ${shownSize(objects.artifacts)} of artifacts, ${shownSize(objects.unreferenced)} that nothing refers to`,
    ...Object.entries(others).flatMap(([name, bytes]) => (bytes > 0 ? [`${name}: ${shownSize(bytes)}`] : [])),
  ];
}

/** Which policies above hold here as well, and which do not because they are another user's. */
async function describeOuter(workspace: string): Promise<string> {
  const { holds } = await import('./trust/outer-policies.ts');
  return outerFolders(workspace)
    .map(
      (one) => `; ${one.folder}/haft.yaml ${holds(one) ? 'holds as well' : "is another user's and ignored"}`,
    )
    .join('');
}

/** Every guarantee of the sandbox, each by an attempt to break it. */
async function diagnoseSandbox(): Promise<readonly Finding[]> {
  const { runProbes } = await import('../capabilities/exec/sandbox/probes.ts');
  return (await runProbes()).map(({ name, ok, evidence, fix }) => ({
    name: `sandbox: ${name}`,
    state: ok ? 'ok' : 'failed',
    evidence,
    ...(fix ? { fix } : {}),
  }));
}

/** The engines that policy sends runs to. */
async function diagnoseEngines(workspace: string): Promise<readonly Finding[]> {
  const { value } = await loadPolicy(workspace);
  // A policy that nobody trusted does not say which engines are spoken to.
  const trusted = value && (await judgeTrust(workspace, value, givenTrust(undefined))).trusted;
  const runs = trusted ? value.file.runs : undefined;
  if (!runs) return [];
  const probed = await probeBackends(runs, { folder: `${workspace}/.haft`, env: process.env });
  return probed.map(({ name, ok, evidence }) => ({
    name: `runs: ${name}`,
    state: ok ? 'ok' : 'failed',
    evidence,
  }));
}

/** Every server, tried: a start does not wait for any of them, and so says nothing of them. */
async function diagnosePacks(workspace: string): Promise<readonly Finding[]> {
  const runtime = await lookWith({ workspace, serversMs: 0 }).catch(() => undefined);
  if (!runtime) return [];
  try {
    const names = runtime.packs().map(({ name }) => name);
    if (names.length === 0) return [];
    const { lookAtPacks } = await import('./packs/look-at-packs.ts');
    const looked = await lookAtPacks(runtime, names, AbortSignal.timeout(PACKS_MS));
    return looked.map(([name, { status, message }]): Finding => {
      const down = status === 'unhealthy';
      return {
        name: `pack ${name}`,
        state: down ? 'failed' : status === 'degraded' ? 'weaker' : 'ok',
        evidence: message ?? status,
        ...(down ? { fix: `haft tools logs ${name}` } : {}),
      };
    });
  } catch (thrown) {
    const { message, reason } = toErrorEntry(thrown);
    return [{ name: 'packs', state: 'failed', evidence: `${message} [${reason}]` }];
  } finally {
    await runtime.close();
  }
}

const PACKS_MS = 30_000;

export async function diagnose(workspace: string): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  for (const [name, check] of Object.entries(CHECKS)) {
    try {
      findings.push({ name, ...(await check(workspace)) });
    } catch (thrown) {
      const { message, reason } = toErrorEntry(thrown);
      findings.push({ name, state: 'failed', evidence: `${message} [${reason}]` });
    }
  }
  for (const more of [diagnosePacks, diagnosePrograms, diagnoseEngines, diagnoseSandbox])
    findings.push(...(await more(workspace)));
  return findings;
}

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

async function diagnosePrograms(workspace: string): Promise<readonly Finding[]> {
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

interface ProbedBackend {
  readonly name: string;
  readonly ok: boolean;
  readonly evidence: string;
}

/** Of those that are reached over something: the sandbox of this machine is looked at elsewhere. */
async function probeBackends(
  runs: RunsPolicy,
  site: { readonly folder: string; readonly env: Readonly<Record<string, string | undefined>> },
): Promise<readonly ProbedBackend[]> {
  const found: ProbedBackend[] = [];
  const inUse = backendsInUse(runs);
  for (const kind of BACKENDS) {
    const { name, here = false } = kind;
    if (here || !inUse.includes(name)) continue;
    const backend = await kind.open(
      backendSite({
        root: `${site.folder}/runs`,
        process: '',
        scope: async () => newId('scope'),
        env: site.env,
        alert: () => {},
        imageEnv: async () => undefined,
      }),
      runs,
    );
    try {
      found.push({ name, ok: true, evidence: (await inTime(backend.probe?.())) ?? 'it is there' });
    } catch (thrown) {
      found.push({ name, ok: false, evidence: toErrorEntry(thrown).message });
    } finally {
      await backend.close();
    }
  }
  return found;
}
