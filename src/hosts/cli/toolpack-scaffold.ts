// Owns: the files of a new toolpack: a tool that can be called at once, on any machine, to be changed into another one.
// Refuses: to write them; that is commands/toolpack-new.ts.
import { VERSION } from '../../contract/version.ts';

/** What it runs in where there are images; public, small, and known to every engine. */
export const SCAFFOLD_IMAGE = 'busybox:1.36';

export const SCAFFOLD_ARGS = { text: 'the quick brown fox' };

/** By their path in its folder. `examples/toolpacks/word_count` is what comes out of it for that name. */
export function scaffoldFiles(name: string): Readonly<Record<string, string>> {
  const manifest = {
    name,
    version: '1.0.0',
    type: 'module',
    private: true,
    haft: { toolpack: 'toolpack.ts' },
    scripts: { test: 'node --test' },
    devDependencies: { haft: `^${VERSION}` },
  };
  const call = { tool: name, args: SCAFFOLD_ARGS, result: { bytes: 19, words: 4 } };
  return {
    'package.json': json(manifest),
    'toolpack.ts': moduleOf(name),
    'toolpack.test.ts':
      "import { toolpackSuite } from 'haft/testing';\n\ntoolpackSuite(import.meta.dirname);\n",
    'calls/first.json': json(call),
    '.gitignore': 'node_modules/\n',
  };
}

const json = (value: object): string => `${JSON.stringify(value, null, 2)}\n`;

const moduleOf = (
  name: string,
): string => String.raw`// Owns: the tool ${name}: one text in, its counts out, the same bytes on every backend.
// Refuses: a text without a word.
import { defineTool, type HybridPlan, refuseArgument } from 'haft/toolpack';

interface Args {
  readonly text: string;
}

/** What it runs in on Docker. Where haft.yaml sends runs to no such engine, it takes the programs of the machine. */
const IMAGE = '${SCAFFOLD_IMAGE}';

/** Counts bytes and blanks only, so that every awk agrees. */
const COUNT =
  '{ words += NF; bytes += length($0) + (NR > 1) }' +
  'END { printf "{\\"bytes\\":%d,\\"words\\":%d}\\n", bytes, words }';

const OUTPUTS = [
  { role: 'counts', type: 'application/json', label: 'Counts', srcRelpath: 'out/counts.json' },
];

export default defineTool<Args, HybridPlan>({
  abiVersion: 'v1',
  toolName: '${name}',
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
`;
