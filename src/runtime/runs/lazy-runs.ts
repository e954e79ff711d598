// Owns: runs for a runtime that may never have one: everything is loaded with the first question.
// Refuses: to cost a call of an ordinary tool anything.

import { checkFields, type KnownFields } from '../../contract/envelope.ts';
import { fail } from '../../contract/errors.ts';
import type { Json } from '../../contract/json.ts';
import type { ObjectId } from '../../contract/object-store.ts';
import type { ReplaySource } from '../../contract/replay.ts';
import type { RunQuery, RunStore } from '../../contract/run-store.ts';
import type {
  ChosenPlace,
  PrepareSite,
  RecoverOptions,
  RunCallOptions,
  RunChoice,
  RunParts,
  RunSubmission,
  RuntimeRuns,
  SubmitOptions,
} from '../../contract/runs.ts';
import type { Clock, Runtime, RuntimeParts } from '../../contract/runtime.ts';
import { readPolicy } from '../proof/keep-policy.ts';
import type { Runs } from './create-runs.ts';

interface LazyRuns {
  readonly runtime: RuntimeRuns;
  readonly replay: ReplaySource;
  prepareSite(signal: AbortSignal, run: Pick<RunChoice, 'tool' | 'policy'>): Promise<PrepareSite>;
  /** Where a run goes, by policy; undefined where the host leaves that open. */
  choose(run: RunChoice): Promise<ChosenPlace | undefined>;
  /** Goes away from what is only followed. */
  release(): void;
  close(): Promise<void>;
}

type Parts = Pick<RuntimeParts, 'store' | 'objects' | 'clock' | 'newId' | 'runs'>;

export function createLazyRuns(parts: Parts, call: Runtime['call']): LazyRuns {
  const { store, objects, clock, newId } = parts;
  let made: Promise<Runs> | undefined;
  let created: Runs | undefined;
  let asked: Promise<RunParts> | undefined;
  let given: RunParts | undefined;

  const runParts = (): Promise<RunParts> => {
    asked ??= (async () => {
      if (!parts.runs) throw fail('run.infrastructure', 'Cannot execute a run: this host has no backend');
      given = await parts.runs();
      return given;
    })();
    return asked;
  };
  const replay = createStoreReplay({
    runs: store.runs,
    clock,
    async verify(id) {
      const { artifacts } = parts.runs ? await runParts() : { artifacts: undefined };
      return artifacts ? (await artifacts.verify(id)).state === 'ok' : (await objects.verify(id)) === 'ok';
    },
  });
  const load = (): Promise<Runs> => {
    made ??= import('./create-runs.ts').then(({ createRuns }) => {
      const policyOf = (hash: string) =>
        readPolicy(objects, hash).then(
          (body) => JSON.parse(Buffer.from(body).toString()) as Json,
          () => undefined,
        );
      const site = {
        store: store.runs,
        clock,
        newId,
        replay,
        policyOf,
        parts: runParts,
        loaded: () => given,
      };
      created = createRuns(site, call);
      return created;
    });
    return made;
  };

  return {
    runtime: {
      execute: async (...args) => (await load()).execute(...args),
      get: async (...args) => (await load()).get(...args),
      attempts: async (...args) => (await load()).attempts(...args),
      async list(query) {
        checkFields('list runs', query, QUERY);
        return (await load()).list(query);
      },
      look: async (...args) => (await load()).look(...args),
      async submit(request, options) {
        checkFields('submit the run', request, SUBMISSION, 'fields of the request');
        checkFields('submit the run', options, SUBMIT_OPTIONS);
        return (await load()).submit(request, options);
      },
      explain: async (...args) => (await load()).explain(...args),
      async retry(runId, options) {
        checkFields('try the run again', options, CALL_OPTIONS);
        return (await load()).retry(runId, options);
      },
      cancel: async (...args) => (await load()).cancel(...args),
      watch: async (...args) => (await load()).watch(...args),
      async verify(runId, options) {
        checkFields('verify the run', options, CALL_OPTIONS);
        return (await load()).verify(runId, options);
      },
      async recover(options) {
        checkFields('recover runs', options, RECOVER_OPTIONS);
        return (await load()).recover(options);
      },
    },
    replay,
    async choose(run) {
      const { choose } = await runParts();
      const { backend, plan } = run;
      return choose ? choose(run) : backend === undefined ? undefined : { backend, plan };
    },
    async prepareSite(signal, run) {
      const { artifacts, backends, pinImage } = await runParts();
      return {
        artifacts,
        signal,
        async pinImage(reference) {
          if (pinImage) return pinImage(reference, run);
          const backend = backends.find((one) => one.pinImage);
          if (!backend?.pinImage)
            throw fail(
              'image.unpinned',
              `Cannot pin the image "${reference}": no backend of this host has images`,
            );
          return (await backend.pinImage(reference)).image;
        },
      };
    },
    release: () => created?.release(),
    async close() {
      await created?.close();
    },
  };
}

const QUERY: KnownFields<RunQuery> = {
  tool: true,
  state: true,
  backend: true,
  sinceTs: true,
  prefix: true,
  after: true,
  limit: true,
};
const SUBMISSION: KnownFields<RunSubmission> = { tool: true, args: true, backend: true, placement: true };
const SUBMIT_OPTIONS: KnownFields<SubmitOptions> = { sessionId: true, requestId: true, signal: true };
const CALL_OPTIONS: KnownFields<RunCallOptions> = { signal: true, sessionId: true, backend: true };
const RECOVER_OPTIONS: KnownFields<RecoverOptions> = { follow: true, runId: true };

interface StoreReplayParts {
  readonly runs: Pick<RunStore, 'get' | 'keep'>;
  /** Re-hashes an output, with everything that belongs to it. */
  verify(id: ObjectId): Promise<boolean>;
  readonly clock: Pick<Clock, 'now'>;
}

export function createStoreReplay({ runs, verify, clock }: StoreReplayParts): ReplaySource {
  return {
    async find(runId) {
      const result = (await runs.get(runId))?.result;
      if (!result) return undefined;
      const whole = await Promise.all([...new Set(result.outputs)].map(verify));
      return whole.every(Boolean) ? { data: result.data, callId: result.callId } : undefined;
    },
    keep: (result) => runs.keep({ ...result, data: result.data as Json }, clock.now()),
  };
}
