// Owns: packs that are Markdown files: each `## heading` is a tool that answers the text below it.
// Refuses: a file without headings, and one outside of the workspace.
import { join } from 'node:path';
import { createInprocessAdapter } from '../../src/adapters/inprocess/inprocess.ts';
import { digest } from '../../src/base/digest.ts';
import { normalizeRelPath } from '../../src/base/rel-path.ts';
import { fail } from '../../src/contract/errors.ts';
import type { BoundTool } from '../../src/contract/manifest.ts';
import { readRegularText } from '../../src/loader/read-regular.ts';
import type { PackEntry, PackSource } from '../../src/preset/packs/pack-source.ts';

export const notes: PackSource = {
  key: 'notes',
  open:
    ({ root }) =>
    async (entry) => {
      const { name, config } = entry;
      const text = readNotes(entry, root);
      const [, ...parts] = `\n${text}`.split(/\n## /);
      const sections = new Map(
        parts.map((part) => {
          const [heading = '', ...lines] = part.split('\n');
          const id = `${name}.${heading.toLowerCase().replaceAll(/[^a-z0-9]+/g, '_')}`;
          return [id, { heading, body: lines.join('\n').trim() }];
        }),
      );
      if (sections.size === 0)
        throw fail('pack.invalid', `Cannot take the pack "${name}": it has no ## heading`);
      const answers = [...sections].map(
        ([id, { body }]) => [id, () => ({ ok: true, data: { text: body } }) as const] as const,
      );
      return [
        {
          installation: {
            name,
            origin: 'notes',
            digest: digest('toolpack/v1', Buffer.from(text)),
            config,
            enabled: true,
            health: { status: 'ready', checkedTs: null },
          },
          adapter: createInprocessAdapter(Object.fromEntries(answers)),
          tools: [...sections].map(([id, { heading }]) => bind(id, heading)),
        },
      ];
    },
};

function readNotes({ name, config }: PackEntry, root: string): string {
  const file = normalizeRelPath(String(config.file));
  try {
    if (file.ok) return readRegularText(join(root, file.path));
  } catch {
    // Whatever it is, it is said below.
  }
  throw fail('pack.invalid', `Cannot take the pack "${name}": notes.file names no file of the workspace`);
}

const bind = (id: string, heading: string): BoundTool => ({
  contract: {
    id,
    version: '1.0.0',
    contract: 'v1',
    title: heading,
    description: `Answers the notes about: ${heading}`,
    tags: ['read'],
    input: { type: 'object', additionalProperties: false },
    output: true,
    deterministic: false,
    idempotent: true,
    mutates: false,
    limits: { timeoutMs: 1_000, maxInputBytes: 1024, maxOutputBytes: 1024 * 1024 },
  },
  binding: { adapter: 'inprocess', target: {} },
});
