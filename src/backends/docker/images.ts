// Owns: which image a plan may run: pinned by what cannot change, and named by policy.
// Refuses: tags, which can move, and to fetch anything.
import { admitsImage, fullName, repositoryOf } from '../../base/image-reference.ts';
import type { PinnedImage } from '../../contract/backend.ts';
import { fail } from '../../contract/errors.ts';
import { parseImageEnv, type Variables } from '../../contract/run-environment.ts';
import type { EngineApi } from './engine-api.ts';

/** `name@sha256:…` or `sha256:…` */
const PINNED = /^(?:[^@\s]+@)?sha256:[0-9a-f]{64}$/;

/** Throws unless the image is pinned and policy admits it. Where its name is not enough the engine is asked for its tags. */
export async function requireImage(
  api: EngineApi,
  image: string | undefined,
  admitted: readonly string[],
): Promise<void> {
  if (image === undefined || !PINNED.test(image))
    throw fail(
      'policy.denied',
      `Cannot run the image ${JSON.stringify(image ?? null)}: it is not pinned by a digest`,
    );
  if (admitted.some((entry) => admitsImage(entry, image))) return;
  const tags = await tagsOf(api, image);
  const isBare = image.startsWith('sha256:');
  const admits = (entry: string) =>
    tags.some((tag) => (isBare ? admitsImage(entry, tag) : fullName(entry) === fullName(tag)));
  if (!admitted.some(admits))
    throw fail('policy.denied', `Cannot run the image "${image}": policy does not name it`, { image });
}

/**
 * By the digest of its own repository where it has one, else of any, else by its id. What Podman calls the digest of an
 * image that nobody pushed is its own invention: by its id the image is the same on every engine.
 */
export async function pinImage(api: EngineApi, reference: string): Promise<PinnedImage> {
  const found = await inspectImage(api, reference);
  if (!found)
    throw fail(
      'run.infrastructure',
      `Cannot pin the image "${reference}": the engine does not have it; pull or load it there first`,
    );
  const repository = repositoryOf(fullName(reference));
  const digests = (found.RepoDigests ?? []).filter((digest) => !digest.startsWith(UNPUSHED)).sort();
  const own = digests.find((digest) => repositoryOf(fullName(digest)) === repository) ?? digests[0];
  return own === undefined ? { image: found.Id, by: 'image_id' } : { image: own, by: 'repository_digest' };
}

/** What an image says of the environment; undefined where the engine does not have it. */
export async function imageEnv(api: EngineApi, image: string): Promise<Variables | undefined> {
  const found = await inspectImage(api, image);
  return found && parseImageEnv(found.Config?.Env ?? []);
}

/** Where Podman puts images that no registry has. */
const UNPUSHED = 'localhost/';

/** And its id, which names it on this engine as well. */
async function tagsOf(api: EngineApi, image: string): Promise<readonly string[]> {
  const { RepoTags, Id } = (await inspectImage(api, image)) ?? {};
  const tags = (RepoTags ?? []).map((tag) => (tag.startsWith(UNPUSHED) ? tag.slice(UNPUSHED.length) : tag));
  return Id === undefined ? tags : [...tags, Id];
}

interface ImageBody {
  readonly Id: string;
  readonly RepoTags?: readonly string[] | null;
  readonly RepoDigests?: readonly string[] | null;
  readonly Config?: { readonly Env?: readonly string[] | null } | null;
}

async function inspectImage(api: EngineApi, reference: string): Promise<ImageBody | undefined> {
  const { status, body } = await api.call('GET', `/images/${encodeURIComponent(reference)}/json`);
  if (status !== 200) return undefined;
  const { Id, ...rest } = body as ImageBody;
  return { Id: Id.startsWith('sha256:') ? Id : `sha256:${Id}`, ...rest };
}
