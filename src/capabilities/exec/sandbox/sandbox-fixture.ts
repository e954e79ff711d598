// Owns: for tests and probes, a throw-away workspace with a sandbox on it, as each user that this machine offers.
// Refuses: to leave anything behind.
import { chownSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type {
  SandboxHandle,
  SandboxObservation,
  SandboxOptions,
  SandboxResult,
  SandboxSpec,
} from '../../../contract/sandbox.ts';
import { createSandbox } from './create-sandbox.ts';

export type Identity = SandboxObservation['identity'];

/** Root can be all three; anybody else is themselves. */
export const identities = (): readonly Identity[] =>
  process.getuid?.() === 0 ? ['mapped', 'owner', 'bare_root'] : ['self'];

export interface Fixture {
  readonly workspace: string;
  readonly sandbox: SandboxHandle;
  /** Runs a line of shell with the usual environment. */
  sh(line: string, spec?: Partial<SandboxSpec>): Promise<ShellResult>;
}

export interface ShellResult extends SandboxResult {
  readonly out: string;
  readonly err: string;
}

export interface FixtureOptions extends Partial<SandboxOptions> {
  readonly identity?: Identity;
  /** Files to begin with; a name with a slash at its end is a folder. */
  readonly files?: Readonly<Record<string, string>>;
}

/** A name that shells, mount tables and scripts like to get wrong. */
const AWKWARD = `haft wörk "space' $x; -`;

/** An ordinary user that may own a workspace of root's. */
const ORDINARY = 65534;

export async function withSandbox<T>(
  options: FixtureOptions,
  use: (fixture: Fixture) => Promise<T>,
): Promise<T> {
  const { identity, files = {}, ...rest } = options;
  const workspace = realpathSync.native(mkdtempSync(join(tmpdir(), AWKWARD)));
  const own = (path: string) => identity === 'owner' && chownSync(path, ORDINARY, ORDINARY);
  own(workspace);
  for (const [name, content] of Object.entries(files)) {
    const path = join(workspace, name);
    const folder = name.endsWith('/') ? path : dirname(path);
    for (const made of madeFolders(folder)) own(made);
    if (!name.endsWith('/')) {
      writeFileSync(path, content);
      own(path);
    }
  }
  const sandbox = createSandbox({ ...rest, workspace }, identity);
  const sh: Fixture['sh'] = async (line, spec) => {
    const result = await sandbox.run({ argv: ['sh', '-c', line], env: sandbox.baseEnv, ...spec });
    return { ...result, out: textOf(result.stdout), err: textOf(result.stderr) };
  };
  try {
    return await use({ workspace, sandbox, sh });
  } finally {
    await sandbox.close();
    rmSync(workspace, { recursive: true, force: true });
  }
}

export const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('utf8');

function madeFolders(folder: string): string[] {
  const first = mkdirSync(folder, { recursive: true });
  const made: string[] = [];
  for (let at = folder; first !== undefined && at.length >= first.length; at = dirname(at)) made.push(at);
  return made;
}
