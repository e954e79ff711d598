// Owns: the part of haft.yaml's table that says where deterministic runs are executed.
// Refuses: what a backend makes of it.
import { BACKENDS } from '../../backends/index.ts';
import type { ChoiceShape, MapShape } from '../../contract/shape.ts';
import { LARGEST, LONGEST_MS, list, number, text } from './shape-words.ts';

const backend = (doc: string, byDefault?: string): ChoiceShape => ({
  is: 'choice',
  of: BACKENDS.map(({ name }) => name),
  doc,
  ...(byDefault ? { default: byDefault } : {}),
});

const runRule: MapShape = {
  is: 'map',
  doc: 'Where the runs of some tools are executed.',
  required: ['tool', 'backend'],
  keys: {
    tool: text('tool-glob', 'A tool id; `*` stands for any characters.'),
    backend: backend('Where its runs are executed, unless the caller chooses another.'),
    backends: list(backend('A backend.'), 'What callers may choose beside it; without it, `runs.backends`.'),
  },
};

const imageRule: MapShape = {
  is: 'map',
  doc: 'An image with more to say about it.',
  required: ['image'],
  keys: {
    image: text(
      'image',
      '`name@sha256:…`, `sha256:…`, a repository (`registry/name`), a tag that the engine knows (`name:tag`), or all below a prefix (`registry/*`).',
    ),
    name: text(
      'name',
      'What toolpacks call it: the name stands for `image`, which is a digest then, and no engine is asked.',
    ),
    tools: list(
      text('tool-glob', 'A tool id; `*` stands for any characters.'),
      'Tools that may use it; without it, all. Runs of other tools keep their ids when the entry changes.',
    ),
  },
};

export const RUNS: MapShape = {
  is: 'map',
  doc: 'Where deterministic runs are executed. Without it: in the sandbox of this machine.',
  keys: {
    backend: backend('Where runs are executed, unless a rule or the caller says otherwise.', 'local'),
    backends: list(backend('A backend.'), 'What callers may choose beside it.'),
    rules: list(runRule, 'Of the rules that match a tool the first holds.'),
    images: list(
      {
        is: 'shorthand',
        doc: 'An image, or an image with more to say about it.',
        text: text('image', 'An image that docker and slurm may run.'),
        map: imageRule,
      },
      'Images that docker and slurm may run. Without it: none.',
    ),
    limits: {
      is: 'map',
      doc: 'What one attempt may use. The smaller of these and what its plan asks for holds.',
      keys: {
        cpus: { ...number('Processors.', 0.01, 4096, "the plan's"), fraction: true },
        memory_bytes: number('Bytes of memory.', 1024 * 1024, LARGEST, "the plan's"),
        wall_ms: number('Milliseconds.', 1, LONGEST_MS, "the plan's"),
        output_bytes: number('Bytes of outputs.', 1, LARGEST, "the plan's"),
        log_bytes: number('Bytes that a container or a job may print.', 1, LARGEST, '16 MiB'),
        processes: number('Processes and threads of a container.', 1, 4_194_304, '1024'),
      },
    },
    folder: text(
      'place',
      'An absolute folder that attempts work in: with Slurm, one that all nodes see at the same path. By default `.haft/runs`.',
    ),
    ...Object.fromEntries(BACKENDS.flatMap(({ name, settings }) => (settings ? [[name, settings()]] : []))),
  },
};
