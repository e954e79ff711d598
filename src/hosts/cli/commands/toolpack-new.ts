// Owns: `haft toolpack new`: a toolpack that works, with a call and a test, to be changed into another one.
// Refuses: to write over anything.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fail } from '../../../contract/errors.ts';
import { VERSION } from '../../../contract/version.ts';
import type { Command } from '../command.ts';

export const command: Command = {
  summary: 'Write a toolpack to begin with',
  usage: 'NAME',
  description:
    'Makes the folder NAME here: a tool that counts words, a call with its expected result, and a test.',
  examples: ['haft toolpack new my_tool', 'haft toolpack check my_tool'],
  positionals: [1, 1],
  async run({ positionals, io, json }) {
    const name = positionals[0]!;
    if (!/^[a-z][a-z0-9_]{0,63}$/.test(name))
      throw fail(
        'usage',
        `Cannot make the toolpack "${name.slice(0, 80)}": a name is of small letters, digits and _, and begins with a letter`,
      );
    const files = filesOf(name);
    try {
      mkdirSync(name);
      mkdirSync(join(name, 'calls'));
      for (const [path, text] of Object.entries(files)) writeFileSync(join(name, path), text, { flag: 'wx' });
    } catch (thrown) {
      if ((thrown as NodeJS.ErrnoException).code === 'EEXIST')
        throw fail(
          'path.exists',
          `Cannot make the toolpack "${name}": something of that name is here already`,
        );
      throw thrown;
    }
    if (json) io.out(`${JSON.stringify({ folder: name, files: Object.keys(files) })}\n`);
    else
      io.out(
        `${Object.keys(files)
          .map((path) => `${name}/${path}\n`)
          .join('')}\nTry it: haft toolpack check ${name}\nUse it: packs: [${name}] in haft.yaml\n`,
      );
    return 0;
  },
};

function filesOf(name: string): Readonly<Record<string, string>> {
  const manifest = {
    name,
    version: '1.0.0',
    type: 'module',
    private: true,
    haft: { toolpack: 'toolpack.ts' },
    scripts: { test: 'node --test' },
    devDependencies: { haft: `^${VERSION}` },
  };
  const result = { lines: 4, longest_line: 19, words: 9 };
  const call = { tool: name, args: { text: 'file:first.txt' }, result };
  return {
    'package.json': `${JSON.stringify(manifest, null, 2)}\n`,
    'toolpack.ts': moduleOf(name),
    'toolpack.test.ts':
      "import { toolpackSuite } from 'haft/testing';\n\ntoolpackSuite(import.meta.dirname);\n",
    'calls/first.json': `${JSON.stringify(call, null, 2)}\n`,
    'calls/first.txt': 'the quick brown fox\njumps over\n\nthe lazy dog\n',
  };
}

/** `examples/toolpacks/text_stats` is what comes out of it for that name. */
const moduleOf = (
  name: string,
): string => String.raw`// Owns: the tool ${name}: one text in, its counts out, the same bytes on every backend.
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
  toolName: '${name}',
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
`;
