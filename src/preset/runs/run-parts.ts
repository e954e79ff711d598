// Owns: where the runs of a workspace are executed: its backends, and the folders that attempts work in.
// Refuses: to start anything before an attempt needs it.

import { createAttemptFolders, workspaceScope } from '../../backends/attempt-folders.ts';
import { digestOf } from '../../base/image-reference.ts';
import type { ArtifactStore } from '../../contract/artifacts.ts';
import type { Backend } from '../../contract/backend.ts';
import { fail } from '../../contract/errors.ts';
import { BACKEND_NAMES, type PolicyFile } from '../../contract/policy.ts';
import { backendsInUse } from '../../contract/policy-match.ts';
import type { RunParts } from '../../contract/runs.ts';
import { renderGrant } from '../../policy/grant.ts';
import { BACKEND_MAKERS, type BackendSite } from './backend-makers.ts';
import { choosePlace } from './choose-place.ts';
import { imageEnvFinder } from './image-env.ts';
import { entriesFor, pinnedByPolicy } from './image-rules.ts';
import { createLazyBackend } from './lazy-backend.ts';

export interface RunPartsSite extends Pick<BackendSite, 'process' | 'env' | 'alert'> {
  /** The state folder, `.haft`. */
  readonly folder: string;
  readonly artifacts: ArtifactStore;
  /** As it is now: haft.yaml may be read again while this lives. */
  policy(): PolicyFile;
}

export async function createRunParts(given: RunPartsSite): Promise<RunParts> {
  const { folder, artifacts, policy, process, env, alert } = given;
  const own = `${folder}/runs`;
  const runs = () => policy().runs ?? {};
  const scope = () => workspaceScope(own);
  const shared = runs().folder;
  const root = shared === undefined ? own : `${shared}/${await scope()}`;
  const imageEnv = imageEnvFinder(() => backends, runs);
  const site: BackendSite = { root, process, scope, env, alert, imageEnv };
  const backends: readonly Backend[] = BACKEND_NAMES.map((name) => {
    const { settings, make, hasImages = false } = BACKEND_MAKERS[name];
    return createLazyBackend({
      name,
      hasImages,
      settings: () => JSON.stringify(settings(runs()) ?? null),
      make: () => make(site, runs()),
      // Attempts of this machine's sandbox end with their process.
      mayHoldOrphans: () => name !== 'local' && backendsInUse(runs()).includes(name),
    });
  });
  const pinOnEngine = enginePins(backends, () => backendsInUse(runs()));

  return {
    artifacts,
    folders: createAttemptFolders({ root, artifacts }),
    backends,
    choose: (run) =>
      choosePlace(run, async (tags, image) => {
        const pinned = await Promise.all(tags.map((tag) => pinOnEngine(tag).catch(() => undefined)));
        return pinned.some((one) => one !== undefined && digestOf(one) === digestOf(image));
      }),
    async pinImage(reference, { tool, policy: file }) {
      return pinnedByPolicy(entriesFor(tool, file.runs ?? {}), reference) ?? pinOnEngine(reference);
    },
  };
}

/** Asks the engines that policy lets runs go to. */
function enginePins(backends: readonly Backend[], inUse: () => readonly string[]) {
  return async (reference: string): Promise<string> => {
    const backend = backends.find(({ name, pinImage }) => pinImage && inUse().includes(name));
    if (backend?.pinImage) return (await backend.pinImage(reference)).image;
    throw fail(
      'image.unpinned',
      `Cannot pin the image "${reference}": policy lets runs go to no engine that has images, and runs.images of haft.yaml does not say which digest it stands for`,
      { image: reference, admit: renderGrant({ runs: { backends: ['docker'], images: [reference] } }) },
    );
  };
}
