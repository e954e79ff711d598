// Owns: `haft runs export`: one file that proves what a run did, for who was not there.
// Refuses: to write over anything, and to leave half a bundle behind.

import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { shownSize } from '../../../base/shown-size.ts';
import type { Command } from '../command.ts';
import { findRun } from '../find-run.ts';
import { checkNew, writeFailure } from '../named-path.ts';

export const command: Command = {
  summary: 'Write a run with its proof into one file',
  usage: 'RUN [--to FILE]',
  description:
    'The bundle is a tar archive: inputs, outputs, log, key preimage, policy, audit row with inclusion proof, and a signed in-toto statement over all of it. The same run gives the same file. "haft runs verify-bundle" checks it anywhere.',
  options: {
    to: { type: 'string', value: 'FILE', help: 'where to write it (default: RUN.bundle.tar here)' },
  },
  examples: ['haft runs export run_… --to result.bundle.tar'],
  positionals: [1, 1],
  async run({ runtime, positionals, flags, io, json }) {
    const opened = await runtime();
    const runId = await findRun(opened.runs, positionals[0]!);
    const named = (flags.to as string | undefined) ?? `${basename(runId)}.bundle.tar`;
    const file = resolve(named);
    const { exportRun } = await import('../../../preset/prove.ts');
    const size = await writeNew(named, exportRun(opened, runId));
    if (json) io.out(`${JSON.stringify({ run_id: runId, file, size })}\n`);
    else io.out(`${file}  ${shownSize(size)}\n`);
    return 0;
  },
};

/** Under another name until it is whole. */
async function writeNew(file: string, pieces: AsyncIterable<Uint8Array>): Promise<number> {
  checkNew(file);
  // Of writing alone: what keeps the bundle from being made is said as it is.
  const told = <T>(work: Promise<T>): Promise<T> =>
    work.catch((thrown: unknown) => {
      throw writeFailure(thrown, file);
    });
  const openNew = (path: string) =>
    told(open(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o644));
  const part = join(dirname(file), `.haft-${randomUUID()}.part`);
  // Taken first: of two who want the same name one is told so before the work.
  const name = await openNew(file);
  try {
    const handle = await openNew(part);
    let size = 0;
    try {
      for await (const piece of pieces) {
        await told(handle.write(piece));
        size += piece.length;
      }
      await told(handle.sync());
    } finally {
      await handle.close();
    }
    await told(rename(part, file));
    return size;
  } catch (thrown) {
    await rm(part, { force: true });
    await rm(file, { force: true });
    throw thrown;
  } finally {
    await name.close();
  }
}
