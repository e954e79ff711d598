// Owns: the tool fastq_stats: sequencing reads in, their counts, lengths, bases and qualities out.
// Refuses: reads that are not FASTQ of four lines each: a file that was cut off is no smaller result, but none.
import { defineTool, type HybridPlan, type ObjectId } from 'haft/toolpack';

interface Args {
  readonly reads: ObjectId;
}

/** Whole numbers throughout, also where ratios are rounded, so that every awk agrees. */
const COUNT = `
function refuse(fact) { print "read " int((NR + 3) / 4) ": " fact > "/dev/stderr"; failed = 1; exit 65 }
function ratio(part, whole,    n) { n = whole > 0 ? int((part * 20000 + whole) / (2 * whole)) : 0; return sprintf("%d.%04d", n / 10000, n % 10000) }
BEGIN { for (i = 33; i < 127; i++) quality[sprintf("%c", i)] = i - 33 }
NR % 4 == 1 { if (substr($0, 1, 1) != "@") refuse("its first line does not begin with @"); next }
NR % 4 == 2 {
  size = length($0); bases = toupper($0); reads++; total += size
  if (reads == 1 || size < shortest) shortest = size
  if (size > longest) longest = size
  gc += gsub(/[GC]/, "", bases); unknown += gsub(/N/, "", bases); gsub(/[AT]/, "", bases)
  if (bases != "") refuse("a base that is none of ACGTN")
  next
}
NR % 4 == 3 { if (substr($0, 1, 1) != "+") refuse("its third line does not begin with +"); next }
{
  if (length($0) != size) refuse(length($0) " qualities for " size " bases")
  for (i = 1; i <= size; i++) {
    symbol = substr($0, i, 1)
    if (!(symbol in quality)) refuse("a quality that is none")
    q = quality[symbol]; sum += q; q20 += q >= 20; q30 += q >= 30
    depth[i]++; at[i] += q; if (depth[i] == 1 || q < least[i]) least[i] = q; if (q > most[i]) most[i] = q
  }
}
END {
  if (!failed && NR % 4 != 0) refuse("it is cut off")
  if (failed) exit 65
  print "position\\treads\\tmean\\tmin\\tmax" > table
  for (i = 1; i <= longest; i++) printf "%d\\t%d\\t%s\\t%d\\t%d\\n", i, depth[i], ratio(at[i], depth[i]), least[i], most[i] > table
  printf "{\\"bases\\":%.0f,\\"gc\\":%s,\\"longest\\":%d,\\"mean_length\\":%s,\\"mean_quality\\":%s,", total, ratio(gc, total), longest, ratio(total, reads), ratio(sum, total)
  printf "\\"n_bases\\":%.0f,\\"q20\\":%s,\\"q30\\":%s,\\"reads\\":%.0f,\\"shortest\\":%d}\\n", unknown, ratio(q20, total), ratio(q30, total), reads, shortest
}`;

/** Compressed or not is seen by its first two bytes, not by a name. */
const RUN = `
[ -f in/reads ] || { echo "the artifact is a tree, not a file" >&2; exit 65; }
reader=cat
if [ "$(head -c 2 in/reads | od -An -tx1)" = " 1f 8b" ]; then
  # Looked at as a whole first: in a pipe nobody would hear of its end.
  gzip -t in/reads || exit 65
  reader='gzip -dc'
fi
$reader in/reads | awk -v table=out/positions.tsv "$1" > out/summary.json`;

const OUTPUTS = [
  {
    role: 'positions',
    type: 'text/tab-separated-values',
    label: 'Quality by position',
    srcRelpath: 'out/positions.tsv',
  },
  { role: 'summary', type: 'application/json', label: 'Counts', srcRelpath: 'out/summary.json' },
];

const COUNTS = ['bases', 'longest', 'n_bases', 'reads', 'shortest'];
const RATIOS = ['gc', 'mean_length', 'mean_quality', 'q20', 'q30'];

export default defineTool<Args, HybridPlan>({
  abiVersion: 'v1',
  toolName: 'fastq_stats',
  contractVersion: 'v1',
  planKind: 'hybrid',
  title: 'Statistics of sequencing reads',
  description:
    'Counts reads, bases, GC, lengths and Phred+33 qualities of a FASTQ artifact, compressed with gzip or not, and the quality at each position.',
  tags: ['bioinformatics'],
  input: {
    type: 'object',
    properties: {
      reads: { type: 'string', pattern: '^sha256:[0-9a-f]{64}$', description: 'The reads, as an artifact' },
    },
    required: ['reads'],
    additionalProperties: false,
  },
  result: {
    type: 'object',
    properties: {
      ...Object.fromEntries(COUNTS.map((name) => [name, { type: 'integer' }])),
      ...Object.fromEntries(RATIOS.map((name) => [name, { type: 'number' }])),
    },
    required: [...COUNTS, ...RATIOS],
    additionalProperties: false,
  },
  declaredOutputs: OUTPUTS,

  async canonicalize({ reads }, ctx) {
    const program = {
      image: await ctx.images.pin('haft/coreutils:1'),
      argv: ['sh', '-c', RUN, 'sh', COUNT],
      env: { LC_ALL: 'C' },
      resources: { cpus: 1, memoryBytes: 1024 ** 3, wallMs: 3_600_000, outputBytes: 16 * 1024 * 1024 },
    };
    return {
      canonicalParams: {},
      inputsToLink: [{ artifactId: reads, role: 'reads' }],
      plan: {
        kind: 'hybrid',
        docker: {
          ...program,
          kind: 'docker',
          inputs: [{ role: 'reads', artifactId: reads, destName: 'reads' }],
        },
        slurm: {
          ...program,
          kind: 'slurm',
          io: {
            inputs: [{ role: 'reads', artifactId: reads, dest_relpath: 'in/reads' }],
            outputs: OUTPUTS,
          },
        },
      },
    };
  },

  async run(run) {
    await run.execute();
    for (const { role } of OUTPUTS) await run.linkOutput(role);
    return JSON.parse(await run.readOutput('summary'));
  },
});
