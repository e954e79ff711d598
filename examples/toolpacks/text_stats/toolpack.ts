// Owns: the tool text_stats: one text in, its counts out, the same bytes on every backend.
// Refuses: options that would change the counts without changing the run.
import { type DockerPlan, defineTool, type ObjectId } from 'haft/toolpack';

interface Args {
  readonly text: ObjectId;
}

/** Counts bytes and blanks only, so that every awk agrees. */
const COUNT =
  '{ words += NF; if (length($0) > longest) longest = length($0) }' +
  'END { printf "{\\"lines\\":%d,\\"longest_line\\":%d,\\"words\\":%d}\\n", NR, longest, words }';

export default defineTool<Args, DockerPlan>({
  abiVersion: 'v1',
  toolName: 'text_stats',
  contractVersion: 'v1',
  planKind: 'docker',
  title: 'Text statistics',
  description: 'Counts the lines and words of a text artifact, and how many bytes its longest line has.',
  tags: ['text'],
  input: {
    type: 'object',
    properties: {
      text: { type: 'string', pattern: '^sha256:[0-9a-f]{64}$', description: 'The text, as an artifact' },
    },
    required: ['text'],
    additionalProperties: false,
  },
  result: {
    type: 'object',
    properties: {
      lines: { type: 'integer' },
      longest_line: { type: 'integer' },
      words: { type: 'integer' },
    },
    required: ['lines', 'longest_line', 'words'],
    additionalProperties: false,
  },
  // A place that ends with a slash is a folder.
  declaredOutputs: [
    { role: 'stats', type: 'application/json', label: 'Counts', srcRelpath: 'out/stats.json' },
  ],

  // Pure: asked in two processes whose clock, locale, environment and machine differ; they have to agree.
  async canonicalize({ text }, ctx) {
    return {
      canonicalParams: {},
      inputsToLink: [{ artifactId: text, role: 'text' }],
      plan: {
        kind: 'docker',
        image: await ctx.images.pin('haft/busybox:1'),
        // It starts in /work: in/ is read-only, out/ is for the declared outputs, and nothing else.
        argv: ['sh', '-c', 'awk "$1" in/text.txt > out/stats.json', 'sh', COUNT],
        env: { LC_ALL: 'C' },
        inputs: [{ role: 'text', artifactId: text, destName: 'text.txt' }],
        resources: { cpus: 1, memoryBytes: 256 * 1024 * 1024, wallMs: 60_000, outputBytes: 65_536 },
      },
    };
  },

  async run(run) {
    await run.execute();
    await run.linkOutput('stats');
    return JSON.parse(await run.readOutput('stats'));
  },
});
