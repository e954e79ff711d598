// Owns: a temporary workspace whose runs go where its policy says, called by `haft call`.
// Refuses: to leave anything behind.
import { cpSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RunsPolicy } from '../../../src/contract/policy.ts';
import type { RuntimeRuns } from '../../../src/contract/runs.ts';
import { createDefaultRuntime } from '../../../src/preset/default.ts';
import { writeTrusted } from '../../../src/preset/trust/trust-for-tests.ts';
import { eventually } from '../../support/eventually.ts';
import { cli, cliJson } from './cli.ts';

export interface ActingWorkspace {
  readonly root: string;
  /** The artifact that `lines_act` is called with. */
  readonly text: string;
  /** Writes haft.yaml anew. */
  setPolicy(runs: RunsPolicy, more?: object): void;
  import(content: string): Promise<string>;
  /** `haft call lines_act`. */
  act(act: string, ...flags: readonly string[]): Promise<ActingAnswer>;
  call(args: object, ...flags: readonly string[]): Promise<ActingAnswer>;
  close(): void;
}

export interface ActingAnswer {
  readonly status: number | null;
  readonly ok: boolean;
  readonly run_id?: string;
  readonly replayed?: boolean;
  readonly data: { readonly outputs: readonly { readonly role: string; readonly artifact_id: string }[] };
  readonly error?: {
    readonly code: string;
    readonly reason: string;
    readonly message: string;
    readonly details?: { readonly [name: string]: unknown };
  };
}

const PACK = join(import.meta.dirname, 'acting-pack');
export const TEXT = 'pear\napple\nplum\n';

export async function withActing(
  runs: RunsPolicy,
  use: (workspace: ActingWorkspace) => Promise<void>,
): Promise<void> {
  const workspace = await openActing(runs);
  try {
    await use(workspace);
  } finally {
    workspace.close();
  }
}

export async function openActing(runs: RunsPolicy): Promise<ActingWorkspace> {
  const root = realpathSync.native(mkdtempSync(join(tmpdir(), 'haft-acting-')));
  cpSync(PACK, join(root, 'acting'), { recursive: true });
  const setPolicy: ActingWorkspace['setPolicy'] = (given, more = {}) =>
    writeTrusted(
      join(root, 'haft.yaml'),
      JSON.stringify({ version: 1, packs: ['acting'], runs: given, ...more }),
    );
  setPolicy(runs);
  const importText = async (content: string): Promise<string> => {
    writeFileSync(join(root, 'text'), content);
    const { document } = await cliJson(root, 'artifacts', 'import', join(root, 'text'));
    return document.artifact;
  };
  const call: ActingWorkspace['call'] = async (args, ...flags) => {
    const words = ['call', 'lines_act', JSON.stringify(args), '--json', ...flags];
    const { status, stdout, stderr } = await cli(root, ...words);
    if (stdout === '') throw new Error(stderr);
    const { errors, ...answer } = JSON.parse(stdout);
    return { status, ...answer, ...(errors?.[0] ? { error: errors[0] } : {}) };
  };
  const text = await importText(TEXT);
  return {
    root,
    text,
    setPolicy,
    import: importText,
    call,
    act: (act, ...flags) => call({ text, act }, ...flags),
    close: () => rmSync(root, { recursive: true, force: true }),
  };
}

async function withRuns<T>({ root }: ActingWorkspace, use: (runs: RuntimeRuns) => Promise<T>): Promise<T> {
  const runtime = await createDefaultRuntime({ workspace: root });
  try {
    return await use(runtime.runs);
  } finally {
    await runtime.close();
  }
}

/** Of every attempt of the run: where it was, how it stands, and why. */
export const attemptsOf = (workspace: ActingWorkspace, { run_id = '' }: ActingAnswer) =>
  withRuns(workspace, async (runs) =>
    (await runs.attempts(run_id)).map(({ backend, state, cause }) => [backend, state, cause] as const),
  );

/** What was seen from inside of its first attempt. */
export const observedOf = (workspace: ActingWorkspace, { run_id = '' }: ActingAnswer) =>
  withRuns(workspace, async (runs) => (await runs.attempts(run_id))[0]?.observed);

/** The fields in which two runs differ, as people call them. */
export const differencesOf = (workspace: ActingWorkspace, a: ActingAnswer, b: ActingAnswer) =>
  withRuns(workspace, async (runs) =>
    (await runs.explain(a.run_id ?? '', b.run_id)).differences.map(({ field }) => field),
  );

/** By role, the log aside. */
export const outputsOf = ({ data }: ActingAnswer) =>
  Object.fromEntries(
    data.outputs.filter(({ role }) => role !== 'log').map(({ role, artifact_id }) => [role, artifact_id]),
  );

export const until = (isSo: () => boolean | Promise<boolean>): Promise<void> =>
  eventually(isSo, String(isSo));
