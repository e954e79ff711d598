// Owns: the checks of `haft doctor`, each proven by trying the thing itself.
// Refuses: to leave anything behind but the workspace's own state folder.
import { formatDiagnostic } from '../contract/diagnostic.ts';
import { toErrorEntry } from '../contract/errors.ts';
import { createDefaultRuntime } from './default.ts';
import { loadPolicy } from './load-policy.ts';

export interface Finding {
  readonly name: string;
  /** `weaker` works, with less of a guarantee than elsewhere. */
  readonly state: 'ok' | 'weaker' | 'failed';
  readonly evidence: string;
  readonly fix?: string;
}

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
    const { value, diagnostics } = await loadPolicy(workspace);
    const lines = diagnostics.map(formatDiagnostic).join('\n    ');
    if (!value)
      return { state: 'failed', evidence: `haft.yaml has problems\n    ${lines}`, fix: 'haft policy check' };
    return { state: 'ok', evidence: `${value.name} loads${lines ? `\n    ${lines}` : ''}` };
  },
  'state folder': async (workspace) => {
    const runtime = await createDefaultRuntime({ workspace });
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
  audit: async (workspace) => {
    const runtime = await createDefaultRuntime({ workspace });
    try {
      const verdict = await runtime.audit.verify();
      if (verdict.ok) return { state: 'ok', evidence: `all ${verdict.head.count} rows verify` };
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
  const { runs } = (await loadPolicy(workspace)).value?.file ?? {};
  if (!runs) return [];
  const { probeBackends } = await import('./runs/probe-backends.ts');
  const probed = await probeBackends(runs, { folder: `${workspace}/.haft`, env: process.env });
  return probed.map(({ name, ok, evidence }) => ({
    name: `runs: ${name}`,
    state: ok ? 'ok' : 'failed',
    evidence,
  }));
}

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
  findings.push(...(await diagnoseEngines(workspace)), ...(await diagnoseSandbox()));
  return findings;
}
