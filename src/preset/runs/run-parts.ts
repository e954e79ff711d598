// Owns: where the runs of a workspace are executed: its backends, each made when it is first asked for, and the folders that attempts work in.
// Refuses: to start anything before an attempt needs it, to name a backend, and to guess what an image says of the environment.
import { createAttemptFolders, workspaceScope } from '../../backends/attempt-folders.ts';
import { BACKENDS } from '../../backends/index.ts';
import { digestOf } from '../../base/image-reference.ts';
import type { ArtifactStore } from '../../contract/artifacts.ts';
import type { Backend, BackendKind, BackendSite } from '../../contract/backend.ts';
import { fail, isFailure, toErrorEntry } from '../../contract/errors.ts';
import type { PolicyFile, RunsPolicy } from '../../contract/policy.ts';
import { backendsInUse } from '../../contract/policy-match.ts';
import type { RunParts } from '../../contract/runs.ts';
import { renderGrant } from '../../policy/grant.ts';
import { isAlive } from '../../stores/process-identity.ts';
import { choosePlace, pinnedByPolicy } from './choose-place.ts';

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
  const site = backendSite({ root, process, scope, env, alert, imageEnv });
  const backends: readonly Backend[] = BACKENDS.map((kind) => lazyBackend(kind, site, runs));
  const pinOnEngine = enginePins(backends, () => backendsInUse(runs()));

  return {
    artifacts,
    folders: createAttemptFolders({ root, artifacts }),
    backends,
    choose: (run) =>
      choosePlace(run, {
        async hasTag(tags, image) {
          const pinned = await Promise.all(tags.map((tag) => pinOnEngine(tag).catch(() => undefined)));
          return pinned.some((one) => one !== undefined && digestOf(one) === digestOf(image));
        },
        async knowsName(name, image) {
          const backend = backends.find((one) => one.name === name);
          return inTime(backend?.knowsName?.(image)).catch(() => undefined);
        },
      }),
    async pinImage(reference, { tool, policy: file }) {
      return pinnedByPolicy(tool, file.runs ?? {}, reference) ?? pinOnEngine(reference);
    },
  };
}

/** With what every backend of this machine is given. */
export function backendSite(own: Omit<BackendSite, 'isAlive' | 'sandbox' | 'seccomp'>): BackendSite {
  return {
    ...own,
    isAlive,
    async sandbox() {
      const { createSandbox } = await import('../../capabilities/exec/sandbox/create-sandbox.ts');
      return createSandbox({ workspace: own.root });
    },
    async seccomp() {
      const { seccompFilter } = await import('../../capabilities/exec/sandbox/seccomp.ts');
      const filters = Object.entries(MACHINES).flatMap(([arch, machine]) => {
        const filter = seccompFilter(arch);
        return filter ? [[machine, filter] as const] : [];
      });
      return Object.fromEntries(filters);
    },
  };
}

/** What `uname -m` calls the CPUs that there are filters for. */
const MACHINES = { x64: 'x86_64', arm64: 'aarch64' } as const;

/** Made when it is first asked for, and again when policy describes another; what runs on the first one ends there. */
function lazyBackend(kind: BackendKind, site: BackendSite, runs: () => RunsPolicy): Backend {
  const { name, images, here = false } = kind;
  const made = new Map<string, Promise<Backend>>();
  const madeFrom = (): string => {
    if (!kind.settings) return '';
    const policy = runs();
    return JSON.stringify([policy[name as keyof RunsPolicy], policy.images, policy.limits]);
  };
  const current = (): Promise<Backend> => {
    const key = madeFrom();
    const known = made.get(key) ?? kind.open(site, runs());
    made.set(key, known);
    // One that could not be made is tried again.
    known.catch(() => made.delete(key));
    return known;
  };
  const asked = async <T>(what: (backend: Backend) => T): Promise<Awaited<T>> => await what(await current());
  return {
    name,
    start: (attempt) => asked((backend) => backend.start(attempt)),
    find: (attempt) => asked((backend) => backend.find(attempt)),
    // Attempts of this machine end with their process; an engine that nothing may go to is not asked.
    reap: async (isOpen) =>
      here || !backendsInUse(runs()).includes(name) ? [] : asked((backend) => backend.reap(isOpen)),
    look: (attempt) => asked((backend) => backend.look?.(attempt)),
    ...(here ? {} : { probe: async () => (await inTime(asked((backend) => backend.probe?.()))) ?? '' }),
    ...(images === 'needed'
      ? {
          pinImage: (reference) => asked((backend) => backend.pinImage!(reference)),
          knowsName: (image) => asked((backend) => backend.knowsName?.(image)),
          imageEnv: (image) => asked((backend) => backend.imageEnv?.(image)),
        }
      : {}),
    async close() {
      const all = await Promise.allSettled(made.values());
      await Promise.all(all.map((one) => (one.status === 'fulfilled' ? one.value.close() : undefined)));
    },
  };
}

/** An engine that took the connection may never answer. */
const ANSWER_MS = 10_000;

export async function inTime<T>(answer: Promise<T | undefined> | undefined): Promise<T | undefined> {
  const late = Promise.withResolvers<never>();
  const message = `Cannot ask the engine: it did not answer within ${ANSWER_MS / 1000} s`;
  const timer = setTimeout(() => late.reject(fail('run.infrastructure', message)), ANSWER_MS);
  try {
    return await Promise.race([answer, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Asks the engines that policy lets runs go to. */
function enginePins(backends: readonly Backend[], inUse: () => readonly string[]) {
  return async (reference: string): Promise<string> => {
    const backend = backends.find(({ name, pinImage }) => pinImage && inUse().includes(name));
    if (backend?.pinImage)
      return (await backend.pinImage(reference).catch(unnamed(backend, reference))).image;
    throw fail(
      'image.unpinned',
      `Cannot pin the image "${reference}": policy lets runs go to no engine that has images, and runs.images of haft.yaml does not say which digest it stands for`,
      { image: reference, admit: renderGrant({ runs: { backends: ['docker'], images: [reference] } }) },
    );
  };
}

/** An engine that is off cannot say which image is meant; and what nobody can name is not run under another name instead. */
const unnamed =
  (backend: Backend, image: string) =>
  async (thrown: unknown): Promise<never> => {
    const silent = await backend.probe?.().then(() => undefined, toErrorEntry);
    if (!isFailure(thrown) || !silent) throw thrown;
    const message = `Cannot name the run: its id depends on which image "${image}" is, only ${backend.name} can say that, and it does not answer (${silent.message}). Start it; or let an entry of runs.images say which digest the name stands for; or take ${backend.name} out of runs.backends`;
    throw fail('run.infrastructure', message, { image });
  };

/** For the sandbox of this machine: where an image can run elsewhere and nobody here knows its ENV, it would not be the same run. */
export function imageEnvFinder(
  backends: () => readonly Backend[],
  runs: () => RunsPolicy,
): BackendSite['imageEnv'] {
  return async (image) => {
    const policy = runs();
    const inUse: readonly string[] = backendsInUse(policy);
    const kinds = BACKENDS.filter(({ name }) => inUse.includes(name));
    if (kinds.every(({ here }) => here)) return undefined;
    for (const kind of BACKENDS) {
      const known = await kind.imageEnv?.(image, policy);
      if (known) return known;
    }
    const engine = backends().find((one) => one.imageEnv && inUse.includes(one.name));
    const said = await engine?.imageEnv?.(image);
    if (said) return said;
    throw fail(
      'run.infrastructure',
      `Cannot run on this machine in place of the image "${image}": its ENV, which programs have on other backends, is not known here; load it into the engine, or write its ENV beside the folder that runs.slurm.images names`,
      { image },
    );
  };
}
