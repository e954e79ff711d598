// Owns: the tool word_count: one text in, its counts out, the same bytes on every backend.
// Refuses: a text without a word.
import { defineTool, type HybridPlan, refuseArgument } from 'haft/toolpack';

interface Args {
  readonly text: string;
}

/** What it runs in on Docker. Where haft.yaml sends runs to no such engine, it takes the programs of the machine. */
const IMAGE = 'busybox:1.36';

/** Counts bytes and blanks only, so that every awk agrees. */
const COUNT =
  '{ words += NF; bytes += length($0) + (NR > 1) }' +
  'END { printf "{\\"bytes\\":%d,\\"words\\":%d}\\n", bytes, words }';

const OUTPUTS = [
  { role: 'counts', type: 'application/json', label: 'Counts', srcRelpath: 'out/counts.json' },
];

export default defineTool<Args, HybridPlan>({
  abiVersion: 'v1',
  toolName: 'word_count',
  contractVersion: 'v1',
  planKind: 'hybrid',
  title: 'Word count',
  description: 'Counts the words and bytes of a text.',
  tags: ['text'],
  input: {
    type: 'object',
    properties: {
      text: { type: 'string', maxLength: 10_000, pattern: '^[^\\u0000]*$', description: 'The text to count' },
    },
    required: ['text'],
    additionalProperties: false,
  },
  result: {
    type: 'object',
    properties: { bytes: { type: 'integer' }, words: { type: 'integer' } },
    required: ['bytes', 'words'],
    additionalProperties: false,
  },
  declaredOutputs: OUTPUTS,

  // Pure: asked in two processes whose clock, locale, environment and machine differ; they have to agree.
  async canonicalize({ text }, ctx) {
    if (text.trim() === '') refuseArgument('/text', 'has no word to count');
    const program = {
      image: await ctx.images.pin(IMAGE, { optional: true }),
      // It starts in /work: in/ is read-only, out/ is for the declared outputs, and nothing else.
      argv: ['sh', '-c', 'printf "%s\\n" "$2" | awk "$1" > out/counts.json', 'sh', COUNT, text],
      env: { LC_ALL: 'C' },
      resources: { cpus: 1, memoryBytes: 256 * 1024 * 1024, wallMs: 60_000, outputBytes: 65_536 },
    };
    return {
      canonicalParams: {},
      inputsToLink: [],
      plan: {
        kind: 'hybrid',
        docker: { ...program, kind: 'docker', inputs: [] },
        slurm: { ...program, kind: 'slurm', io: { inputs: [], outputs: OUTPUTS } },
      },
    };
  },

  async run(run) {
    await run.execute();
    await run.linkOutput('counts');
    return JSON.parse(await run.readOutput('counts'));
  },
});
