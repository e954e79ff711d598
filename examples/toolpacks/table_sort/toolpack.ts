// Owns: the tool table_sort: one table in, its rows in order out, the same bytes on every backend.
// Refuses: quoted fields and ragged rows: what a field is never depends on who reads the table.
import { defineTool, type HybridPlan, type ObjectId, refuseArgument } from 'haft/toolpack';

interface Args {
  readonly table: ObjectId;
  readonly by: readonly Key[];
  readonly separator: 'tab' | 'comma' | 'semicolon';
}

interface Key {
  readonly column: string;
  readonly as: 'text' | 'number';
  readonly order: 'ascending' | 'descending';
}

const SEPARATORS = { tab: '\t', comma: ',', semicolon: ';' };

/** Checks the shape, and counts. */
const CHECK = `
function refuse(fact) { print "line " NR ": " fact > "/dev/stderr"; failed = 1; exit 65 }
index($0, "\\"") && FS != "\\t" { refuse("a quoted field; convert the table to tabs first") }
NR == 1 { columns = NF; next }
NF != columns { refuse(NF " fields, and the header has " columns) }
END { if (NR == 0) refuse("it is empty"); if (!failed) printf "{\\"columns\\":%d,\\"rows\\":%d}\\n", columns, NR - 1 }`;

/** Stable, so that rows with equal keys stay as they were. */
const SORT = `
check=$1 separator=$2
shift 2
awk -F "$separator" "$check" in/table > out/summary.json || exit
head -n 1 in/table > out/sorted
tail -n +2 in/table | sort -s -t "$separator" "$@" >> out/sorted`;

const OUTPUTS = [
  { role: 'sorted', type: 'text/plain', label: 'Sorted table', srcRelpath: 'out/sorted' },
  { role: 'summary', type: 'application/json', label: 'Counts', srcRelpath: 'out/summary.json' },
];

export default defineTool<Args, HybridPlan>({
  abiVersion: 'v1',
  toolName: 'table_sort',
  contractVersion: 'v1',
  planKind: 'hybrid',
  title: 'Sort a table',
  description:
    'Sorts the rows of a table artifact by columns of its header line. Rows with equal keys keep their order; text compares byte by byte.',
  tags: ['table'],
  input: {
    type: 'object',
    properties: {
      table: {
        type: 'string',
        pattern: '^sha256:[0-9a-f]{64}$',
        description: 'The table, as an artifact; its first line names the columns',
      },
      by: {
        type: 'array',
        minItems: 1,
        maxItems: 16,
        description: 'The columns to sort by, the most important first',
        items: {
          type: 'object',
          properties: {
            column: { type: 'string', minLength: 1 },
            as: { enum: ['text', 'number'], default: 'text' },
            order: { enum: ['ascending', 'descending'], default: 'ascending' },
          },
          required: ['column'],
          additionalProperties: false,
        },
      },
      separator: { enum: ['tab', 'comma', 'semicolon'], default: 'tab' },
    },
    required: ['table', 'by'],
    additionalProperties: false,
  },
  result: {
    type: 'object',
    properties: { columns: { type: 'integer' }, rows: { type: 'integer' } },
    required: ['columns', 'rows'],
    additionalProperties: false,
  },
  declaredOutputs: OUTPUTS,

  async canonicalize({ table, by, separator = 'tab' }, ctx) {
    const between = SEPARATORS[separator];
    const [header = ''] = (await ctx.artifacts.readText(table)).split('\n', 1);
    const columns = header.split(between);
    const keys = by.map((key, n) => sortKey(key, n, columns));
    const image = await ctx.images.pin('haft/coreutils:1');
    const program = {
      image,
      argv: ['sh', '-c', SORT, 'sh', CHECK, between, ...keys],
      env: { LC_ALL: 'C' },
      resources: { cpus: 1, memoryBytes: 512 * 1024 * 1024, wallMs: 600_000 },
    };
    return {
      canonicalParams: {},
      inputsToLink: [{ artifactId: table, role: 'table' }],
      plan: {
        kind: 'hybrid',
        docker: {
          ...program,
          kind: 'docker',
          inputs: [{ role: 'table', artifactId: table, destName: 'table' }],
        },
        slurm: {
          ...program,
          kind: 'slurm',
          io: {
            inputs: [{ role: 'table', artifactId: table, dest_relpath: 'in/table' }],
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

/** `-k2,2nr`, as sort knows it. */
function sortKey(
  { column, as = 'text', order = 'ascending' }: Partial<Key>,
  n: number,
  columns: readonly string[],
): string {
  const at = columns.indexOf(column ?? '') + 1;
  if (at === 0)
    refuseArgument(`/by/${n}/column`, `the table has no column "${column}"; it has ${columns.join(', ')}`);
  return `-k${at},${at}${as === 'number' ? 'g' : ''}${order === 'descending' ? 'r' : ''}`;
}
