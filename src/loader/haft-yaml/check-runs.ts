// Owns: what the entries of `runs` must be to each other: a name stands for a digest, and so does what nodes have unpacked.
// Refuses: asking whether an image or an engine is there.
import { digestOf } from '../../base/image-reference.ts';
import { quoted } from '../yaml/located.ts';
import type { Draft, DraftSite } from './draft.ts';

export function checkRuns({ runs }: Draft, { report, place }: DraftSite): void {
  const unpinned = (where: string, image: string, fact: string): void =>
    report.error(
      'image.unpinned',
      place(where),
      `${where}: ${quoted(image)} ${fact}`,
      'name@sha256:… or sha256:…, as "docker image inspect" shows it',
    );
  for (const [at, entry] of (runs?.images ?? []).entries()) {
    if (typeof entry !== 'object' || entry.name === undefined || entry.image === undefined) continue;
    if (digestOf(entry.image) === undefined)
      unpinned(`runs.images[${at}].image`, entry.image, 'has no digest, and a name must stand for one');
  }
  for (const [at, entry] of (runs?.slurm?.images ?? []).entries()) {
    if (entry?.image === undefined || digestOf(entry.image) !== undefined) continue;
    unpinned(
      `runs.slurm.images[${at}].image`,
      entry.image,
      'has no digest, and nodes know images by nothing else',
    );
  }
}
