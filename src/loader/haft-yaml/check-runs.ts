// Owns: what the entries of `runs` must be to each other: a name stands for a digest, and so does what nodes have unpacked.
// Refuses: asking whether an image or an engine is there.
import { BACKENDS } from '../../backends/index.ts';
import { digestOf } from '../../base/image-reference.ts';
import type { RunsPolicy } from '../../contract/policy.ts';
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
  for (const { check } of BACKENDS)
    for (const { at, text, fact } of check?.((runs ?? {}) as RunsPolicy) ?? [])
      unpinned(`runs.${at}`, text, fact);
}
