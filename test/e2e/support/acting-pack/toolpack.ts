// Owns: a hybrid tool for tests: sorts the lines of a text, or ends in the way that it is told.
// Refuses: to be of use.
import { defineTool, type HybridPlan, type ObjectId } from 'haft/toolpack';

interface Args {
  readonly text: ObjectId;
  readonly act: string;
}

const ACTS: { readonly [act: string]: string } = {
  sort: 'sort in/text > out/sorted; wc -l < in/text',
  fail: 'echo no >&2; exit 3',
  // More than it may use of each.
  time: 'sleep 600',
  memory: 'tail /dev/zero > out/sorted',
  slow: 'sleep 3; sort in/text > out/sorted',
};

const OUTPUTS = [{ role: 'sorted', type: 'text/plain', label: 'Sorted lines', srcRelpath: 'out/sorted' }];

export default defineTool<Args, HybridPlan>({
  abiVersion: 'v1',
  toolName: 'lines_act',
  contractVersion: 'v1',
  planKind: 'hybrid',
  description: 'Sorts lines, or ends as it is told.',
  input: {
    type: 'object',
    properties: { text: { type: 'string' }, act: { enum: Object.keys(ACTS), default: 'sort' } },
    required: ['text'],
    additionalProperties: false,
  },
  declaredOutputs: OUTPUTS,

  async canonicalize({ text, act }, ctx) {
    const program = {
      image: await ctx.images.pin('haft/coreutils:1'),
      argv: ['sh', '-c', ACTS[act] ?? ''],
      env: { LC_ALL: 'C' },
    };
    const memoryBytes = 64 * 1024 * 1024;
    const wallMs = act === 'time' ? 1_000 : 60_000;
    return {
      canonicalParams: { act },
      inputsToLink: [{ artifactId: text, role: 'text' }],
      plan: {
        kind: 'hybrid',
        docker: {
          ...program,
          kind: 'docker',
          inputs: [{ role: 'text', artifactId: text, destName: 'text' }],
          resources: { cpus: 1, memoryBytes, wallMs },
        },
        slurm: {
          ...program,
          kind: 'slurm',
          io: { inputs: [{ role: 'text', artifactId: text, dest_relpath: 'in/text' }], outputs: OUTPUTS },
          resources: { cpus: 1, memoryBytes: memoryBytes + 1, wallMs },
        },
      },
    };
  },

  async run(run) {
    await run.execute();
    const { artifactId } = await run.linkOutput('sorted');
    return { sorted: artifactId };
  },
});
