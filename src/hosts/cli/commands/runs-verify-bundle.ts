// Owns: `haft runs verify-bundle`: is this bundle what was signed, and by whom?
// Refuses: a workspace: it needs nothing but the file, and leaves nothing behind.
import { existsSync } from 'node:fs';
import type { TarSource } from '../../../base/tar.ts';
import { ERRORS, fail } from '../../../contract/errors.ts';
import { toWire } from '../../../contract/spelling.ts';
import type { Command } from '../command.ts';
import { openNamed } from '../named-path.ts';
import { readFileArgument } from '../read-argument.ts';

export const command: Command = {
  summary: 'Verify the exported bundle of a run, offline',
  usage: 'FILE [--key KEY]',
  description:
    'Names every part that was altered since the bundle was signed. Whoever alters a bundle can also sign it anew with another key: with --key it must be the one that you know the host by ("haft audit checkpoint --key" prints it there).',
  options: {
    key: { type: 'string', value: 'KEY', help: 'the public key of the host, or a file that holds it' },
  },
  examples: [
    'haft runs verify-bundle result.bundle.tar',
    'haft runs verify-bundle result.bundle.tar --key host.pub',
  ],
  positionals: [1, 1],
  anywhere: true,
  async run({ positionals, flags, io, json }) {
    const { checkBundle } = await import('../../../preset/prove.ts');
    const verdict = await withFile(positionals[0]!, async (source) =>
      checkBundle(source, await keyOf(flags.key)),
    );
    const { ok, problems, signedBy, trusted } = verdict;
    if (json) io.out(`${JSON.stringify(toWire(verdict))}\n`);
    else if (ok) {
      io.out(`The bundle verifies: ${verdict.runId} of ${verdict.tool}, ${verdict.files} files\n`);
      io.out(`signed by ${signedBy}${trusted ? ', the key that was expected' : ''}\n`);
      if (!trusted) io.err('haft: no key to compare with was given: see --key\n');
    } else {
      for (const { part, problem } of problems)
        io.err(
          `haft: ${part === 'archive' ? positionals[0] : part}: ${problem} [E_INTERNAL bundle.altered]\n`,
        );
    }
    return ok ? 0 : ERRORS['bundle.altered'].exit;
  },
};

/** A key is one line. */
const LARGEST_KEY = 64 * 1024;

async function keyOf(given: unknown): Promise<string | undefined> {
  if (given === undefined) return undefined;
  const text = String(given);
  if (existsSync(text)) return new TextDecoder().decode(await readFileArgument(text, LARGEST_KEY));
  if (text.split('+').length >= 3) return text;
  throw fail('usage', 'Cannot use --key: it takes a public key, or a file that holds one');
}

async function withFile<T>(path: string, use: (source: TarSource) => Promise<T>): Promise<T> {
  const handle = await openNamed(path);
  try {
    const { size } = await handle.stat();
    return await use({
      size,
      async read(position, length) {
        const bytes = Buffer.alloc(Math.max(0, Math.min(length, size - position)));
        let got = 0;
        while (got < bytes.length) {
          const { bytesRead } = await handle.read(bytes, got, bytes.length - got, position + got);
          if (bytesRead === 0) break;
          got += bytesRead;
        }
        return bytes.subarray(0, got);
      },
    });
  } finally {
    await handle.close();
  }
}
