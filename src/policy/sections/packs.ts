// Owns: `packs`: where tools come from beside the builtins.
// Not here: what a pack may say (preset/packs), and that its folder is read-only (protected-paths.ts).
import { isRecord } from '../../base/is-record.ts';
import type { Json, JsonObject } from '../../contract/json.ts';
import type { Section } from '../section.ts';
import { list, text } from '../shapes.ts';
import { absent, lists, nothing, same, shown } from '../values.ts';

export const packs = {
  key: 'packs',
  written: () => ({
    shape: list(
      {
        is: 'shorthand',
        doc: 'A pack: where it lies, or what it is.',
        text: text('folder', 'A path relative to haft.yaml, inside of the workspace.'),
        map: { is: 'open', doc: 'The description of a pack.' },
      },
      'Where tools come from beside the builtins. Their folders are read-only to tools.',
    ),
    changes(before = [], after = []) {
      const old = before.map(packOf);
      return lists('packs', old, after.map(packOf), {
        added: (pack) => pack.enabled !== false || !old.some((one) => same({ ...one, enabled: false }, pack)),
        removed: () => false,
      });
    },
    reach: 12,
    grants: (own) => own.map(describePack),
    below: absent,
  }),
  meaning: (own = []) => own,
  project: nothing,
} satisfies Section<'packs'>;

function packOf(pack: string | JsonObject): { readonly [key: string]: Json } {
  const { enabled = true, ...rest } = typeof pack === 'string' ? { path: pack } : pack;
  return { ...rest, enabled } as { readonly [key: string]: Json };
}

function describePack(pack: string | JsonObject): string {
  if (typeof pack === 'string') return `the tools of the pack ${shown(pack)}`;
  const { path, name, enabled, ...rest } = pack;
  const off = enabled === false ? ' (disabled)' : '';
  if (typeof path === 'string') return `the tools of the pack ${shown(path)}${off}`;
  const [[kind = '', config = null] = []] = Object.entries(rest);
  const { command, url, ...settings } = (isRecord(config) ? config : {}) as JsonObject;
  const what =
    command !== undefined
      ? `runs ${Array.isArray(command) ? command.map((word) => shown(word)).join(' ') : shown(command)}`
      : `reaches ${shown(url ?? config)}`;
  const further = Object.keys(settings).length > 0 ? `, with ${shown(settings)}` : '';
  return `the pack ${shown(name ?? '')}${off} (${kind}): ${what}${further}`;
}
