// Owns: one program of a pack from its needs to its end.
// Refuses: to announce the call: whoever calls a tool that changes something has done so before.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CallScope } from '../../contract/capability.ts';
import { fail } from '../../contract/errors.ts';
import type { OpenProxy } from '../../contract/exec.ts';
import type { EgressConnection } from '../../contract/http.ts';
import type { Program, ProgramOutcome, ProgramRun } from '../../contract/program.ts';
import type { SandboxHandle, SandboxNetwork, SandboxResult } from '../../contract/sandbox.ts';
import { type FenceKeeper, withFences, withoutFences } from './fences/with-fences.ts';
import { programSpec } from './program-spec.ts';
import { decideConnection } from './run-shell.ts';

export interface ProgramSite {
  readonly scope: CallScope;
  readonly sandbox: SandboxHandle;
  readonly fences: FenceKeeper;
  readonly openProxy: OpenProxy;
}

export async function runProgram(
  site: ProgramSite,
  program: Program,
  how: ProgramRun,
): Promise<ProgramOutcome> {
  const { scope, sandbox } = site;
  const { spec, roots, fences } = programSpec(scope, program, site.fences);
  const signal = how.signal ? AbortSignal.any([how.signal, scope.signal]) : scope.signal;
  signal.throwIfAborted();
  const contained = await isContained(site);
  const connections: EgressConnection[] = [];
  const network = await openNetwork(
    site.openProxy,
    program,
    () => scope,
    (one) => connections.push(one),
  );
  try {
    const env = { ...usualEnv(site, program), ...program.env };
    const full = { ...spec, ...how, env, network: network.network, signal };
    const result = contained
      ? await withFences(scope, site.fences, roots, fences, () => sandbox.run(full))
      : await withoutFences(scope, site.fences, roots, async () =>
          (await import('./bare-program.ts')).runBareProgram(scope.root, full),
        );
    return { ...checked(scope, result, signal), connections };
  } finally {
    await network.close();
  }
}

/** Throws where there is no sandbox and policy requires one; says so where it does not. */
export async function isContained({ scope, sandbox }: ProgramSite): Promise<boolean> {
  const available = await sandbox.available();
  if (available.ok) return true;
  if (!scope.policy.sandboxOptional)
    throw fail('sandbox.unavailable', `Cannot run the program: ${available.reason}`, {
      hint: available.hint,
    });
  scope.warn({
    reason: 'sandbox.unavailable',
    message: `The program ran without a sandbox: ${available.reason}`,
  });
  return false;
}

export const usualEnv = ({ sandbox }: ProgramSite, { needs }: Program): Readonly<Record<string, string>> =>
  needs.subprocess ? sandbox.baseEnv : sandbox.loneEnv;

export interface ProgramNetwork {
  readonly network: SandboxNetwork;
  close(): Promise<void>;
}

/** `scope` is asked for every connection: a program that serves several calls has another one each time. */
export async function openNetwork(
  openProxy: OpenProxy,
  { needs }: Program,
  scope: () => CallScope,
  record: (connection: EgressConnection) => void,
): Promise<ProgramNetwork> {
  if (needs.network.length === 0) return { network: 'none', close: async () => {} };
  const folder = mkdtempSync(join(tmpdir(), 'haft-proxy-'));
  const proxy = await openProxy({
    socket: join(folder, 'proxy'),
    allow: (target) => decideConnection(scope(), target),
    record,
  });
  return {
    network: { proxy: proxy.address },
    async close() {
      await proxy.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function checked(scope: CallScope, result: SandboxResult, signal: AbortSignal): SandboxResult {
  if (result.refused) {
    const { reason, message, hint } = result.refused;
    throw fail(reason, message, hint ? { hint } : undefined);
  }
  if (result.aborted) throw signal.reason;
  if (result.lost && result.limitHit === undefined)
    throw fail(
      'call.outcome_unknown',
      'Cannot say how the program ended: its keeper was killed from outside',
    );
  for (const path of result.disturbed)
    scope.warn({
      reason: 'path.protected',
      message: `${path} changed while the program ran; look at it before you trust it`,
    });
  return result;
}
