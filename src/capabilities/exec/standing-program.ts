// Owns: a program that is kept and talked to, and for whom it works at the moment.
// Refuses: to let it use the network for a call that is over: each connection is decided for the one that it serves now.
import type { CallScope } from '../../contract/capability.ts';
import type { ConnectionListener, Program, StandingProgram, StderrListener } from '../../contract/program.ts';
import type { SandboxStream } from '../../contract/sandbox.ts';
import { holdPlaceholders } from './fences/placeholders.ts';
import { profileOf, programSpec } from './program-spec.ts';
import { isContained, openNetwork, type ProgramSite, usualEnv } from './run-program.ts';

export interface Standing extends StandingProgram {
  serve(scope: CallScope, heard?: ConnectionListener): void;
}

export async function startProgram(
  site: ProgramSite,
  program: Program,
  heard?: ConnectionListener,
  said?: StderrListener,
): Promise<Standing> {
  const { sandbox } = site;
  let current = site.scope;
  let listener = heard;
  const fenced = programSpec(current, program, site.fences);
  const { spec, fences } = fenced;
  const profile = profileOf(current, program, site.fences, fenced);
  const contained = await isContained(site);
  const network = await openNetwork(
    site.openProxy,
    program,
    () => current,
    (connection) => listener?.(connection),
  );
  // While it lives, and not looked at afterwards: in that time others come and go in the same folders.
  const held = holdPlaceholders(current.root, contained ? fences : NONE, site.fences.names);
  try {
    const full = {
      ...spec,
      env: { ...usualEnv(site, program), ...program.env },
      network: network.network,
      ...(said ? { onOutput: tellErrors(said) } : {}),
    };
    const started = contained
      ? await sandbox.start(full)
      : (await import('./bare-program.ts')).startBareProgram(current.root, full);
    void started.result.then(() => {
      held.release();
      return network.close();
    });
    return {
      stdin: started.stdin,
      stdout: started.stdout,
      result: started.result,
      stop: (graceMs) => started.stop(graceMs),
      profile,
      serve(scope, next) {
        current = scope;
        listener = next;
      },
    };
  } catch (thrown) {
    held.release();
    await network.close();
    throw thrown;
  }
}

const tellErrors = (said: StderrListener) => (stream: SandboxStream, chunk: Uint8Array) =>
  stream === 'stderr' ? said(chunk) : undefined;

const NONE = { missing: [], present: [] };
