// Owns: `runs`: where deterministic runs are executed, on which images, and how much they may use up.
// Not here: the settings of a backend (src/backends), and choosing a place for a run (preset/runs).
import { BACKENDS } from '../../backends/index.ts';
import { canonicalJson, canonicalText } from '../../base/canonical-json.ts';
import { digest } from '../../base/digest.ts';
import { digestOf } from '../../base/image-reference.ts';
import { quoted } from '../../contract/diagnostic.ts';
import type { Json } from '../../contract/json.ts';
import type { RunResources } from '../../contract/plan.ts';
import type { BackendName, ImageRule, PolicyFile, RunLimits, RunsPolicy } from '../../contract/policy.ts';
import { LIMIT_OF, POLICY_DEFAULTS } from '../../contract/policy.ts';
import { backendsInUse, matchesTool } from '../../contract/policy-match.ts';
import type { PreparedRun } from '../../contract/runs.ts';
import type { TextProblem } from '../../contract/shape.ts';
import type { Draft, DraftSite, Finding, Section } from '../section.ts';
import { choice, LARGEST, LONGEST_MS, list, map, number, shorthand, text } from '../shapes.ts';
import type { Numbers } from '../values.ts';
import { absent, asRule, asSet, granted, lists, numbers, ONLY_LESS, shown, value } from '../values.ts';
import { toolRules } from './tools.ts';

export const runs = {
  key: 'runs',
  written: () => ({
    shape: shape(),
    texts: () => ({ image: checkImage, word: checkWord }),
    check: checkRuns,
    changes(before = {}, after = {}) {
      const { limits: oldLimits, images: oldImages = [], backends: oldBackends = [], ...old } = before;
      const { limits, images = [], backends = [], ...now } = after;
      const keys = [...new Set([...Object.keys(old), ...Object.keys(now)])] as (keyof typeof old)[];
      const whole = (all: typeof images) => all.map((entry) => asRule<ImageRule, 'image'>(entry, 'image'));
      return [
        ...keys.flatMap((key) =>
          value(`runs.${key}`, old[key] as Json, now[key] as Json, () => widensRuns(key, before, after)),
        ),
        ...lists('runs.backends', oldBackends, backends, ONLY_LESS),
        ...lists('runs.images', whole(oldImages), whole(images), ONLY_LESS),
        ...numbers('runs.limits', oldLimits as Numbers, limits as Numbers, POLICY_DEFAULTS.runLimits),
      ];
    },
    reach: 7,
    grants({ backend = 'local', backends = [], images = [], limits: _limits, ...rest }) {
      return [
        `runs on ${[...new Set([backend, ...backends])].join(', ')}`,
        ...images.map(
          (image) => `runs with the image ${shown(asRule<ImageRule, 'image'>(image, 'image').image)}`,
        ),
        ...Object.entries(rest).map(([key, own]) => `runs.${key}: ${shown(own as Json)}`),
      ];
    },
    below: absent,
    under: narrowRuns,
  }),
  meaning: (own) => own && { backend: 'local', ...own, images: imagesOf(own) },
  /** Which images there are and how much a run may use up can change what it makes; where it runs cannot. */
  project({ runs: own }, tool) {
    const images = imagesOf(own, tool);
    const { limits = {} } = own ?? {};
    return images.length === 0 && Object.keys(limits).length === 0 ? {} : { runs: { images, limits } };
  },
  effects: {
    'run.read': granted("the workspace's runs are granted"),
    'run.cancel': granted("the workspace's runs are granted"),
    /** Whether anything may run there at all; which tools, and on which image, is decided with the run. */
    'run.backend': {
      decide(effect, { layers }) {
        const backend = effect.backend as BackendName;
        return layers.flatMap((layer): Finding[] => {
          if (!layer.complete) return [];
          const own = layer.file.runs ?? {};
          const inUse = backendsInUse(own);
          const { where, ...cited } = layer.cite('runs.backends');
          if (inUse.includes(backend))
            return [{ verdict: 'allow', ...cited, fact: `${where} has ${backend}` }];
          const grant = layer.grant({ runs: { backends: [...(own.backends ?? []), backend] } });
          const fact = `no line of runs lets anything run on ${backend}, only on ${inUse.join(', ')}`;
          return [{ verdict: 'deny', ...cited, fact, grant }];
        });
      },
    },
    /** What may not be called may not be submitted either; where the rules of the tool ask, its own call does. */
    'run.submit': {
      decide({ tool }, policy) {
        const found = toolRules(tool, policy).findings(undefined) ?? [];
        const denied = found.filter(({ verdict }) => verdict === 'deny');
        return denied.length > 0 ? denied : SUBMITTED.decide();
      },
    },
  },
} satisfies Section<'runs'>;

const SUBMITTED = granted('its own call is decided when it is made');

// ------------------------------------------------------------------------------------ what it may hold

function shape() {
  const backend = (doc: string, byDefault?: string) =>
    choice(
      BACKENDS.map(({ name }) => name),
      doc,
      byDefault,
    );
  const tool = () => text('tool-glob', 'A tool id; `*` stands for any characters.');
  return map('Where deterministic runs are executed. Without it: in the sandbox of this machine.', {
    backend: backend('Where runs are executed, unless a rule or the caller says otherwise.', 'local'),
    backends: list(backend('A backend.'), 'What callers may choose beside it.'),
    rules: list(
      map(
        'Where the runs of some tools are executed.',
        {
          tool: tool(),
          backend: backend('Where its runs are executed, unless the caller chooses another.'),
          backends: list(
            backend('A backend.'),
            'What callers may choose beside it; without it, `runs.backends`.',
          ),
        },
        { required: ['tool', 'backend'] },
      ),
      'Of the rules that match a tool the first holds.',
    ),
    images: list(
      shorthand(
        'An image, or an image with more to say about it.',
        text('image', 'An image that docker and slurm may run.'),
        map(
          'An image with more to say about it.',
          {
            image: text(
              'image',
              '`name@sha256:…`, `sha256:…`, a repository (`registry/name`), a tag that the engine knows (`name:tag`), or all below a prefix (`registry/*`).',
            ),
            name: text(
              'name',
              'What toolpacks call it: the name stands for `image`, which is a digest then, and no engine is asked.',
            ),
            tools: list(
              tool(),
              'Tools that may use it; without it, all. Runs of other tools keep their ids when the entry changes.',
            ),
          },
          { required: ['image'] },
        ),
      ),
      'Images that docker and slurm may run. Without it: none.',
    ),
    limits: map('What one attempt may use. The smaller of these and what its plan asks for holds.', {
      cpus: { ...number('Processors.', 0.01, 4096, "the plan's"), fraction: true },
      memory_bytes: number('Bytes of memory.', 1024 * 1024, LARGEST, "the plan's"),
      wall_ms: number('Milliseconds.', 1, LONGEST_MS, "the plan's"),
      output_bytes: number('Bytes of outputs.', 1, LARGEST, "the plan's"),
      log_bytes: number('Bytes that a container or a job may print.', 1, LARGEST, '16 MiB'),
      processes: number('Processes and threads of a container.', 1, 4_194_304, '1024'),
    }),
    folder: text(
      'place',
      'An absolute folder that attempts work in: with Slurm, one that all nodes see at the same path. By default `.haft/runs`.',
    ),
    ...Object.fromEntries(
      BACKENDS.flatMap(({ name, settings }) => (settings ? [[name, settings()] as const] : [])),
    ),
  });
}

function checkImage(given: string): TextProblem[] {
  const [, name = '', suffix] = /^([^@]*)(?:@(.*))?$/s.exec(given) ?? [];
  const bare = /^sha256:/.test(given);
  if (bare || suffix !== undefined) {
    if (/^sha256:[0-9a-f]{64}$/.test(bare ? given : (suffix ?? ''))) return [];
    return [{ code: 'image.invalid', fact: 'a digest is sha256: and 64 digits from 0 to f' }];
  }
  if (/^[a-z0-9][\w.:/-]*(\/\*)?$/i.test(name)) return [];
  const fact = 'an image is a name, a name with a tag or a digest, or a prefix that ends in /*';
  return [{ code: 'image.invalid', fact }];
}

/** It becomes an argument of sbatch. */
const checkWord = (given: string): TextProblem[] =>
  /^[\w.][\w.:,&|()=*+-]*$/.test(given)
    ? []
    : [{ code: 'value.text', fact: 'it is not a word as Slurm has them' }];

/** A name stands for a digest, and so does what nodes have unpacked. */
function checkRuns({ runs: own }: Draft, site: DraftSite): void {
  const unpinned = (where: string, image: string, fact: string): void =>
    site.error(
      'image.unpinned',
      where,
      `${where}: ${quoted(image)} ${fact}`,
      'name@sha256:… or sha256:…, as "docker image inspect" shows it',
    );
  for (const [at, entry] of (own?.images ?? []).entries()) {
    if (typeof entry !== 'object' || entry.name === undefined || entry.image === undefined) continue;
    if (digestOf(entry.image) === undefined)
      unpinned(`runs.images[${at}].image`, entry.image, 'has no digest, and a name must stand for one');
  }
  for (const { check } of BACKENDS)
    for (const { at, text, fact } of check?.((own ?? {}) as RunsPolicy) ?? [])
      unpinned(`runs.${at}`, text, fact);
}

// ---------------------------------------------------------------------------------------- what it means

const imagesOf = (own: RunsPolicy | undefined, tool?: string): unknown[] =>
  asSet(
    (own?.images ?? []).flatMap((entry) => {
      const { image, name = null, tools } = asRule<ImageRule, 'image'>(entry, 'image');
      if (tool === undefined) return [[image, name, tools ? asSet(tools) : null]];
      return !tools || tools.some((glob) => matchesTool(glob, tool)) ? [[image, name]] : [];
    }),
  );

/** Whether another value of a key that is no list and no limit may let something happen that could not. */
function widensRuns(key: keyof RunsPolicy, before: RunsPolicy, after: RunsPolicy): boolean {
  // Nothing runs on an engine that no run can be sent to.
  if (BACKENDS.some(({ name }) => name === key)) return backendsInUse(after).includes(key);
  if (key === 'backend')
    return ![before.backend ?? 'local', ...(before.backends ?? [])].includes(after.backend ?? 'local');
  // Without it they work in Haft's own state.
  if (key === 'folder') return after.folder !== undefined;
  return true;
}

/** Of two, what both say; without any of it the defaults hold: `local` alone, and no image. */
function narrowRuns(inner: RunsPolicy | undefined, outer: RunsPolicy | undefined): RunsPolicy | undefined {
  if (!inner || !outer) return undefined;
  const { backends = [], images = [], limits = {}, ...settings } = outer;
  const has = (all: readonly unknown[] | undefined, one: unknown) =>
    (all ?? []).some((other) => canonicalText(other) === canonicalText(one));
  const names = [inner.backend ?? 'local', ...(inner.backends ?? [])];
  const smaller = Object.entries(inner.limits ?? {}).map(([key, most = Infinity]) => [
    key,
    Math.min(most, (limits as Numbers)[key] ?? Infinity),
  ]);
  return {
    ...settings,
    backends: backends.filter((one) => names.includes(one)),
    images: images.filter((one) => has(inner.images, one)),
    limits: { ...limits, ...Object.fromEntries(smaller) },
  };
}

/**
 * What of a policy can change what a prepared run makes. It sees neither the workspace nor a network, and nobody is asked
 * while it runs, so that of all sections only `runs.limits` reaches it: a limit that is smaller than what one of its plans
 * asks for. All plans count, whichever is executed: a run has one id on every backend. The body is canonical JSON, in the
 * words of haft.yaml: `{"runs":{"limits":{"cpus":1}}}`, and the hash its `policy/v1` digest.
 */
export function projectRun({ runs: own }: PolicyFile, { plan, plans }: Pick<PreparedRun, 'plan' | 'plans'>) {
  const asked = [plan, ...Object.values(plans ?? {})].map(({ resources }) => resources);
  const limits = { ...tightOf(own?.limits, asked), ...shownOf(own?.limits) };
  const bytes = canonicalJson({ runs: { limits } });
  return { hash: digest('policy/v1', bytes), body: () => bytes };
}

function tightOf(limits: RunLimits = {}, asked: readonly RunResources[]): RunLimits {
  const fields = Object.entries(LIMIT_OF) as [keyof RunResources, keyof RunLimits][];
  return Object.fromEntries(
    fields.flatMap(([field, key]) => {
      const limit = limits[key];
      return limit !== undefined && asked.some((resources) => resources[field] > limit) ? [[key, limit]] : [];
    }),
  );
}

/** No plan asks for processes: every run can notice how many it may have. What it prints too much of only ends it. */
function shownOf({ processes }: RunLimits = {}): RunLimits {
  return processes === undefined || processes === POLICY_DEFAULTS.runLimits.processes ? {} : { processes };
}
