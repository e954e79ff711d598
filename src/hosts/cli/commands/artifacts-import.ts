// Owns: `haft artifacts import`: a file, a folder or standard input becomes an artifact.
// Refuses: paths that policy denies: it is the call of `artifact_import`, recorded like any other.

import { resolve } from 'node:path';
import { shownSize } from '../../../base/shown-size.ts';
import { ERRORS } from '../../../contract/errors.ts';
import { toWire } from '../../../contract/spelling.ts';
import { describeError } from '../../../contract/terminal-text.ts';
import type { Command, Invocation } from '../command.ts';

export const command: Command = {
  summary: 'Keep a file, a folder or standard input as an artifact',
  usage: 'PATH | -',
  description:
    'Prints its id, which is its digest: equal bytes have equal ids, and are kept once. A path must lie in the workspace or an extra root of haft.yaml; what lies elsewhere can be piped.',
  examples: ['haft artifacts import data/reads.fastq', 'zcat /data/reads.fastq.gz | haft artifacts import -'],
  positionals: [1, 1],
  run: (invocation) => (invocation.positionals[0] === '-' ? importStdin(invocation) : importPath(invocation)),
};

async function importStdin({ runtime, io, json }: Invocation): Promise<number> {
  const artifacts = await (await runtime()).artifacts();
  const { createdTs: _created, usedTs: _used, id, ...rest } = await artifacts.importStream(io.stdin());
  if (json) io.out(`${JSON.stringify({ artifact: id, ...toWire(rest) })}\n`);
  else io.out(`${id}\n`);
  return 0;
}

async function importPath({ runtime, positionals, io, json }: Invocation): Promise<number> {
  const path = resolve(positionals[0]!);
  const call = { tool: 'artifact_import', args: { path } };
  const response = await (await runtime()).call(call, { signal: () => io.signal });
  const [error] = response.errors;
  if (error) {
    if (json) io.out(`${JSON.stringify({ ok: false, errors: response.errors })}\n`);
    else io.err(describeError(error));
    if (error.reason === 'path.outside_workspace' && !json)
      io.err('  or pipe it: haft artifacts import - < FILE\n');
    return ERRORS[error.reason].exit;
  }
  const { artifact, kind, size, files } = response.data as ArtifactAnswer;
  if (json) io.out(`${JSON.stringify(response.data)}\n`);
  else io.out(`${artifact}\n`);
  if (io.tty && !json) io.err(`${kind}, ${files} file${files === 1 ? '' : 's'}, ${shownSize(size)}\n`);
  return 0;
}

interface ArtifactAnswer {
  readonly artifact: string;
  readonly kind: string;
  readonly size: number;
  readonly files: number;
}
