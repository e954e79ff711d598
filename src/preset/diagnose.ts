// Owns: the checks of `haft doctor`, each proven by trying the thing itself.
// Refuses: to leave anything behind but the workspace's own state folder.
import { formatDiagnostic } from '../contract/diagnostic.ts';
import { toErrorEntry } from '../contract/errors.ts';
import type { Finding } from '../contract/operation-handles.ts';
import { outerFolders } from '../loader/haft-yaml/outer-folders.ts';
import { belowOuter } from './adopt-policy.ts';
import { checkStateSize } from './check-state-size.ts';
import { createDefaultRuntime } from './default.ts';
import { loadPolicy } from './load-policy.ts';
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
    const runtime = await createDefaultRuntime({ workspace, untrusted: 'closed', onBrokenPack });
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
  'state folder': async (workspace) => {
    const runtime = await createDefaultRuntime({
      workspace,
      untrusted: 'closed',
      serversMs: 0,
      onBrokenPack: () => {},
    });
    try {
      const head = await runtime.audit.head();
      const object = await runtime.objects.put(new TextEncoder().encode('haft doctor\n'));
      const state = (await runtime.objects.verify(object)) === 'ok' ? 'ok' : 'failed';
      return {
        state,
        evidence: `.haft opens, ${head.count} audit rows, the object store keeps and verifies bytes`,
      };
    } finally {
      await runtime.close();
    }
  },
  'state size': checkStateSize,
  audit: async (workspace) => {
    const runtime = await createDefaultRuntime({
      workspace,
      untrusted: 'closed',
      serversMs: 0,
      onBrokenPack: () => {},
    });
    try {
      const verdict = await runtime.audit.verify();
      if (verdict.ok) {
        const { checkKeptHead, isBroken } = await import('./kept-head.ts');
        const kept = await checkKeptHead(workspace, runtime.audit);
        const state = isBroken(kept) ? 'failed' : kept.state === 'behind' ? 'weaker' : 'ok';
        return {
          state,
          evidence: `all ${verdict.head.count} rows verify\n    ${kept.message}`,
          ...(state === 'ok' ? {} : { fix: 'haft audit verify' }),
        };
      }
      return {
        state: 'failed',
        evidence: `row ${verdict.seq}: ${verdict.problem}`,
        fix: 'haft audit verify --head …',
      };
    } finally {
      await runtime.close();
    }
  },
};

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
  const { probeBackends } = await import('./runs/probe-backends.ts');
  const probed = await probeBackends(runs, { folder: `${workspace}/.haft`, env: process.env });
  return probed.map(({ name, ok, evidence }) => ({
    name: `runs: ${name}`,
    state: ok ? 'ok' : 'failed',
    evidence,
  }));
}

/** Every server, tried: a start does not wait for any of them, and so says nothing of them. */
async function diagnosePacks(workspace: string): Promise<readonly Finding[]> {
  const runtime = await createDefaultRuntime({ workspace, serversMs: 0 }).catch(() => undefined);
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
  const { diagnosePrograms } = await import('./diagnose-programs.ts');
  for (const more of [diagnosePacks, diagnosePrograms, diagnoseEngines, diagnoseSandbox])
    findings.push(...(await more(workspace)));
  return findings;
}
