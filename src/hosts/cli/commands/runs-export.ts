// Owns: `haft runs export`: one file that proves what a run did, for who was not there.
// Refuses: to write over anything, and to leave half a bundle behind.

import { constants } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { shownSize } from '../../../base/shown-size.ts';
import { fail } from '../../../contract/errors.ts';
import type { Command } from '../command.ts';
import { findRun } from '../find-run.ts';

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
    const file = resolve((flags.to as string | undefined) ?? `${basename(runId)}.bundle.tar`);
    const { exportRun } = await import('../../../preset/prove.ts');
    const size = await writeNew(file, exportRun(opened, runId));
    if (json) io.out(`${JSON.stringify({ run_id: runId, file, size })}\n`);
    else io.out(`${file}  ${shownSize(size)}\n`);
    return 0;
  },
};

/** Under another name until it is whole. */
async function writeNew(file: string, pieces: AsyncIterable<Uint8Array>): Promise<number> {
  const part = join(dirname(file), `.${basename(file)}.${process.pid}.part`);
  // Taken first: of two who want the same name one is told so before the work.
  const name = await openNew(file);
  try {
    const handle = await openNew(part);
    let size = 0;
    try {
      for await (const piece of pieces) {
        await handle.write(piece);
        size += piece.length;
      }
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(part, file);
    return size;
  } catch (thrown) {
    await rm(part, { force: true });
    await rm(file, { force: true });
    throw thrown;
  } finally {
    await name.close();
  }
}

async function openNew(file: string) {
  try {
    return await open(file, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o644);
  } catch (thrown) {
    const { code = '' } = thrown as NodeJS.ErrnoException;
    const facts: Readonly<Record<string, string>> = {
      EEXIST: 'something is already there',
      ENOENT: 'its folder is not there',
      EACCES: 'permission denied',
    };
    throw fail('usage', `Cannot write ${basename(file)}: ${facts[code] ?? `the system reports ${code}`}`);
  }
}
