// Owns: `haft artifacts cat`: the verified bytes of an artifact, on standard output or at a path.
// Refuses: to print bytes that are no text on a terminal, and to write over anything.
import { isUtf8 } from 'node:buffer';
import { resolve } from 'node:path';
import { fail } from '../../../contract/errors.ts';
import { artifactId } from '../artifact-id.ts';
import type { Command, Invocation } from '../command.ts';
import { checkNew, writeFailure } from '../named-path.ts';

export const command: Command = {
  summary: 'Print the content of an artifact, or copy it to a path',
  usage: 'ARTIFACT [PATH-IN-TREE] [--to PATH]',
  description: 'What is handed out was verified against the id. A tree is copied whole with --to.',
  options: {
    to: { type: 'string', value: 'PATH', help: 'copy it there, read-only; nothing may be there yet' },
    range: { type: 'string', value: 'START:END', help: 'only these bytes, END excluded' },
  },
  examples: [
    'haft artifacts cat sha256:… | head',
    'haft artifacts cat sha256:… src/main.rs',
    'haft artifacts cat sha256:… --to results/',
  ],
  positionals: [1, 2],
  reads: true,
  async run(invocation) {
    const { positionals, flags, json } = invocation;
    if (json) throw fail('usage', 'Cannot print content as JSON: take --to, or haft call artifact_get');
    const id = artifactId(positionals[0]!);
    const path = positionals[1];
    if (flags.to !== undefined && (path !== undefined || flags.range !== undefined))
      throw fail('usage', 'Cannot copy a part of an artifact: --to takes all of it');
    const artifacts = await (await invocation.runtime()).artifacts();
    if (flags.to !== undefined) {
      const to = flags.to as string;
      checkNew(to);
      await artifacts.materialise(id, resolve(to)).catch((thrown: unknown) => {
        throw writeFailure(thrown, to);
      });
      return 0;
    }
    if (flags.range !== undefined) {
      const { bytes } = await artifacts.read(id, { ...rangeOf(flags.range as string), ...pathOf(path) });
      print(invocation, bytes);
      return 0;
    }
    for await (const piece of artifacts.stream(id, path)) {
      print(invocation, piece);
      if (invocation.io.signal.aborted) break;
    }
    return 0;
  },
};

const pathOf = (path: string | undefined) => (path === undefined ? {} : { path });

function rangeOf(text: string): { readonly start: number; readonly end?: number } {
  const match = /^(\d{1,15}):(\d{1,15})?$/.exec(text);
  if (!match) throw fail('usage', `Cannot use --range ${text.slice(0, 80)}: it takes START:END in bytes`);
  return { start: Number(match[1]), ...(match[2] === undefined ? {} : { end: Number(match[2]) }) };
}

/** A terminal gets text whose control characters cannot move its cursor; a pipe gets the bytes. */
function print({ io }: Invocation, bytes: Uint8Array): void {
  if (!io.tty) return io.bytes(bytes);
  if (!isUtf8(bytes))
    throw fail('usage', 'Cannot print it on a terminal: it is not text; redirect it, or take --to');
  io.out(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8'));
}
