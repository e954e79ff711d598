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
  const call = { tool: name, args: { text: 'file:first.txt' }, result: { words: 4 } };
  return {
    'package.json': `${JSON.stringify(manifest, null, 2)}\n`,
    'toolpack.ts': moduleOf(name),
    'toolpack.test.ts':
      "import { toolpackSuite } from 'haft/testing';\n\ntoolpackSuite(import.meta.dirname);\n",
    'calls/first.json': `${JSON.stringify(call, null, 2)}\n`,
    'calls/first.txt': 'four words\nin it\n',
  };
}

const moduleOf = (
  name: string,
): string => `import { type DockerPlan, defineTool, type ObjectId } from 'haft/toolpack';

interface Args {
  readonly text: ObjectId;
}

export default defineTool<Args, DockerPlan>({
  abiVersion: 'v1',
  toolName: '${name}',
  contractVersion: 'v1',
  planKind: 'docker',
  description: 'Counts the words of a text artifact.',
  input: {
    type: 'object',
    properties: { text: { type: 'string', pattern: '^sha256:[0-9a-f]{64}$' } },
    required: ['text'],
    additionalProperties: false,
  },
  result: {
    type: 'object',
    properties: { words: { type: 'integer' } },
    required: ['words'],
    additionalProperties: false,
  },
  declaredOutputs: [{ role: 'counts', type: 'application/json', label: 'Counts', srcRelpath: 'out/counts.json' }],

  // Pure: asked in two processes whose clock, locale, environment and machine differ; they have to agree.
  async canonicalize({ text }, ctx) {
    return {
      canonicalParams: {},
      inputsToLink: [{ artifactId: text, role: 'text' }],
      plan: {
        kind: 'docker',
        image: await ctx.images.pin('haft/busybox:1'),
        // It starts in /work: in/ is read-only, out/ is for the declared outputs, and nothing else.
        argv: ['sh', '-c', 'awk "$1" in/text.txt > out/counts.json', 'sh', COUNT],
        env: { LC_ALL: 'C' },
        inputs: [{ role: 'text', artifactId: text, destName: 'text.txt' }],
      },
    };
  },

  async run(run) {
    await run.execute();
    await run.linkOutput('counts');
    return JSON.parse(await run.readOutput('counts'));
  },
});

const COUNT = '{ words += NF } END { printf "{\\\\"words\\\\":%d}\\\\n", words }';
`;
