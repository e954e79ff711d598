// Owns: the images of policy: which entries hold for a tool, what they admit, and which names they pin.
// Refuses: to ask an engine; what a tag stands for only that can say.
import { admitsImage, digestOf } from '../../base/image-reference.ts';
import type { ImageRule, RunsPolicy } from '../../contract/policy.ts';
import { matchesTool } from '../../contract/policy-match.ts';

export function entriesFor(tool: string, { images = [] }: RunsPolicy): readonly ImageRule[] {
  return images
    .map((entry) => (typeof entry === 'string' ? { image: entry } : entry))
    .filter(({ tools }) => !tools || tools.some((glob) => matchesTool(glob, tool)));
}

export const admitsByText = (entries: readonly ImageRule[], image: string): boolean =>
  entries.some((entry) => admitsImage(entry.image, image));

/** What a name stands for where an entry says so. */
export const pinnedByPolicy = (entries: readonly ImageRule[], reference: string): string | undefined =>
  entries.find(({ name, image }) => name === reference && digestOf(image) !== undefined)?.image;
