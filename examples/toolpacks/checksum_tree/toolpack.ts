// Owns: the tool checksum_tree: a tree in, the SHA-256 of every file out, as one list and as one file beside each.
// Refuses: an artifact that is a file; `sha256sum` of it is its id.
import { defineTool, type ObjectId, type SlurmPlan } from 'haft/toolpack';

interface Args {
  readonly tree: ObjectId;
}

/** In the order of bytes. Names that hold a line feed or a backslash are written as sha256sum writes them. */
const CHECKSUM = `
[ -d in/tree ] || { echo "the artifact is a file, not a tree" >&2; exit 65; }
mkdir out/sidecars
cd in/tree
find . -type f -printf '%P\\0' | sort -z | xargs -0 -r sha256sum -- > ../../out/SHA256SUMS
find . -mindepth 1 -type d -printf '%P\\0' | (cd ../../out/sidecars && xargs -0 -r mkdir -p --)
find . -type f -printf '%P\\0' | sort -z | xargs -0 -r sh -ec '
  for file; do (cd "./$(dirname -- "$file")" && sha256sum -- "\${file##*/}") > "../../out/sidecars/$file.sha256"; done' sh
find . -type f -printf '%s\\n' |
  awk '{ bytes += $1 } END { printf "{\\"bytes\\":%.0f,\\"files\\":%d}\\n", bytes, NR }' > ../../out/summary.json`;

const OUTPUTS = [
  { role: 'checksums', type: 'text/plain', label: 'SHA256SUMS', srcRelpath: 'out/SHA256SUMS' },
  { role: 'sidecars', type: 'tree', label: 'One .sha256 for each file', srcRelpath: 'out/sidecars/' },
  { role: 'summary', type: 'application/json', label: 'Counts', srcRelpath: 'out/summary.json' },
];

export default defineTool<Args, SlurmPlan>({
  abiVersion: 'v1',
  toolName: 'checksum_tree',
  contractVersion: 'v1',
  planKind: 'slurm',
  title: 'Checksums of a tree',
  description:
    'Writes SHA256SUMS for a tree artifact, as `sha256sum -c` reads it, and a folder with one .sha256 for each file.',
  tags: ['files'],
  input: {
    type: 'object',
    properties: {
      tree: { type: 'string', pattern: '^sha256:[0-9a-f]{64}$', description: 'The tree, as an artifact' },
    },
    required: ['tree'],
    additionalProperties: false,
  },
  result: {
    type: 'object',
    properties: { bytes: { type: 'integer' }, files: { type: 'integer' } },
    required: ['bytes', 'files'],
    additionalProperties: false,
  },
  declaredOutputs: OUTPUTS,

  canonicalize({ tree }) {
    return {
      canonicalParams: {},
      inputsToLink: [{ artifactId: tree, role: 'tree' }],
      plan: {
        kind: 'slurm',
        // No image: whatever coreutils a node has, they agree on what a checksum is.
        argv: ['sh', '-ec', CHECKSUM],
        env: { LC_ALL: 'C' },
        io: { inputs: [{ role: 'tree', artifactId: tree, dest_relpath: 'in/tree' }], outputs: OUTPUTS },
        resources: { cpus: 1, memoryBytes: 256 * 1024 * 1024, wallMs: 600_000 },
      },
    };
  },

  async run(run) {
    await run.execute();
    for (const { role } of OUTPUTS) await run.linkOutput(role);
    return JSON.parse(await run.readOutput('summary'));
  },
});
