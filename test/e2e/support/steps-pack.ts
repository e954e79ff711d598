// Owns: a toolpack for tests whose one tool ends as it is told to: well, badly, late, or differently each time.
// Refuses: images, so that every machine and every cluster can run it.

const MODULE = `import { defineTool, runPlan } from 'haft/toolpack';

const SCRIPT = \`case "$1" in
  ok) echo "made $2"; echo "$2" > out/answer.txt;;
  fail) echo "no $2" >&2; exit 3;;
  random) cat /proc/sys/kernel/random/uuid > out/answer.txt;;
  count) for n in 1 2 3 4 5; do echo "step $n"; sleep 0.2; done; echo "$2" > out/answer.txt;;
  wait) echo begun; sleep 600;;
esac\`;

const OUTPUTS = [{ role: 'answer', type: 'text/plain', label: 'Answer', srcRelpath: 'out/answer.txt' }];

export default defineTool({
  abiVersion: 'v1',
  toolName: 'steps',
  contractVersion: 'v1',
  planKind: 'slurm',
  description: 'Ends as it is told to.',
  input: {
    type: 'object',
    properties: { how: { enum: ['ok', 'fail', 'random', 'count', 'wait'] }, word: { type: 'string' } },
    required: ['how', 'word'],
    additionalProperties: false,
  },
  declaredOutputs: OUTPUTS,
  canonicalize: ({ how, word }) => ({
    canonicalParams: { how, word },
    inputsToLink: [],
    plan: {
      kind: 'slurm',
      argv: ['sh', '-c', SCRIPT, 'sh', how, word],
      resources: { cpus: 1, memoryBytes: 128 * 1024 * 1024, wallMs: 600_000 },
      io: { inputs: [], outputs: OUTPUTS },
    },
  }),
  run: runPlan,
});
`;

/** Files of a workspace that has it. */
export const stepsPack = (policy = ''): Readonly<Record<string, string>> => ({
  'haft.yaml': `version: 1\npacks: [steps]\n${policy}`,
  'steps/package.json': JSON.stringify({
    name: 'steps',
    version: '1.0.0',
    type: 'module',
    private: true,
    haft: { toolpack: 'toolpack.ts' },
  }),
  'steps/toolpack.ts': MODULE,
});
