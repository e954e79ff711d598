// Owns: `haft runs collect`: the outputs of a run as files, each verified against its digest.
// Refuses: to write over anything, and to leave a part of them behind.

import { randomUUID } from 'node:crypto';
import { mkdir, rename, rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { shownSize } from '../../../base/shown-size.ts';
import { fail, isFailure } from '../../../contract/errors.ts';
import type { AttemptRecord, RunRecord } from '../../../contract/run.ts';
import { table } from '../../../contract/terminal-text.ts';
import { LOG_ROLE } from '../../../contract/toolpack.ts';
import { endOf, findRun, reasonOf, shortRun } from '../../../operations/run-view.ts';
import type { Command } from '../command.ts';
import { checkNew, writeFailure } from '../named-path.ts';

export const command: Command = {
  summary: 'Copy the outputs of a run into a folder',
  usage: 'RUN --to DIR',
  description:
    'Each output is at the path that its program wrote it to, below DIR, beside the log. What is written was verified against its digest. Nothing may be in DIR yet, and the folder above it must be there; either all of it is written or nothing.',
  options: { to: { type: 'string', value: 'DIR', help: 'the folder to make' } },
  examples: ['haft runs collect run_3fa1 --to results/'],
  positionals: [1, 1],
  async run({ runtime, positionals, flags, io, json }) {
    if (flags.to === undefined)
      throw fail('usage', 'Cannot collect the outputs: --to DIR says where they go');
    const opened = await runtime();
    const { run, attempts } = await opened.runs.look(await findRun(opened.runs, positionals[0]!));
    const outputs = outputsOf(run, attempts);
    const named = flags.to as string;
    checkNew(named, { orEmpty: true });
    const folder = resolve(named);
    const artifacts = await opened.artifacts();
    await fillNew(named, async (part) => {
      for (const { path, artifact } of outputs) {
        if (io.signal.aborted) throw fail('time.cancelled', 'Cannot collect the outputs: it was interrupted');
        await mkdir(dirname(join(part, path)), { recursive: true });
        await artifacts.materialise(artifact, join(part, path));
      }
    });
    const files = outputs.map(({ path, ...rest }) => ({ ...rest, file: join(folder, path) }));
    if (json) io.out(`${JSON.stringify({ run_id: run.runId, outputs: files })}\n`);
    else io.out(table(files.map(({ role, size, file }) => [role, shownSize(size), file])));
    return 0;
  },
};

interface Collected {
  readonly role: string;
  readonly artifact: AttemptRecord['outputs'][number]['artifact'];
  readonly size: number;
  /** Below the folder. */
  readonly path: string;
}

function outputsOf(run: RunRecord, attempts: readonly AttemptRecord[]): readonly Collected[] {
  const made = attempts.findLast(({ purpose, state }) => purpose === 'run' && state === 'succeeded');
  const newest = attempts.findLast(({ purpose }) => purpose === 'run');
  const cannot = `Cannot collect the outputs of ${shortRun(run.runId)}`;
  if (!newest)
    throw fail('run.unknown', `${cannot}: ${run.tool} answers a result and makes none (see haft runs show)`);
  if (!made)
    throw fail(
      reasonOf(newest),
      `${cannot}: attempt ${newest.number} is ${endOf(newest)} (see haft runs watch)`,
    );
  const places = new Map(run.plan?.outputs.map(({ role, src }) => [role, src.replace(/\/$/, '')]));
  const taken = [...places.values()].map((place) => place.split('/')[0]);
  const log = ['log', 'run.log', `${run.runId}.log`].find((name) => !taken.includes(name)) as string;
  return made.outputs.map(({ role, artifact, size }) => ({
    role,
    artifact,
    size,
    path: role === LOG_ROLE ? log : (places.get(role) ?? role),
  }));
}

/** Under another name until it is whole; an empty folder may be there. */
async function fillNew(named: string, fill: (part: string) => Promise<void>): Promise<void> {
  const folder = resolve(named);
  const part = join(dirname(folder), `.haft-${randomUUID()}.part`);
  try {
    await mkdir(part);
    await fill(part);
    await rename(part, folder);
  } catch (thrown) {
    await rm(part, { recursive: true, force: true });
    throw isFailure(thrown) ? thrown : writeFailure(thrown, named);
  }
}
