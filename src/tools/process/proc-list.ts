// Owns: `proc_list`: what runs on this machine.
// Refuses: secrets in command lines, and to end or change a process.
import { fail } from '../../contract/errors.ts';
import { loadPatternCompiler } from '../../contract/policy-match.ts';
import { defineBuiltin } from '../../contract/tool.ts';

export interface ProcListArgs {
  readonly filter?: string;
  readonly limit: number;
}

export interface ProcListData {
  readonly processes: readonly {
    readonly pid: number;
    readonly ppid: number;
    readonly cmd: string;
    readonly cpu: number;
    readonly mem_mb: number;
    readonly user: string;
    readonly started: string;
  }[];
  readonly count: number;
  readonly truncated: boolean;
}

export const procList = defineBuiltin<ProcListArgs, ProcListData>({
  id: 'proc_list',
  title: 'List processes',
  description: 'List processes of this machine, busiest first, with pid, CPU, memory and command line.',
  tags: ['process', 'read'],
  limits: { timeoutMs: 10_000, maxInputBytes: 64 * 1024, maxOutputBytes: 64 * 1024 * 1024 },
  input: () => ({
    type: 'object',
    properties: {
      filter: {
        type: 'string',
        minLength: 1,
        maxLength: 1000,
        description: 'Regular expression on the command line: "cargo|node".',
      },
      limit: {
        type: 'integer',
        minimum: 1,
        maximum: 10_000,
        default: 50,
        description: 'Most processes to return.',
      },
    },
    required: [],
    additionalProperties: false,
  }),
  output: () => ({
    type: 'object',
    properties: {
      processes: {
        type: 'array',
        items: {
          type: 'object',
          properties: {
            pid: { type: 'integer' },
            ppid: { type: 'integer' },
            cmd: { type: 'string' },
            cpu: { type: 'number' },
            mem_mb: { type: 'number' },
            user: { type: 'string' },
            started: { type: 'string', description: 'When it started, in UTC: 2026-01-31T12:00:00.000Z.' },
          },
          required: ['pid', 'ppid', 'cmd', 'cpu', 'mem_mb', 'user', 'started'],
          additionalProperties: false,
        },
      },
      count: { type: 'integer', description: 'How many processes are in this answer.' },
      truncated: { type: 'boolean' },
    },
    required: ['processes', 'count', 'truncated'],
    additionalProperties: false,
  }),
  examples: [
    { title: 'What uses the processor most', args: { limit: 5 } },
    { title: 'Builds under way', args: { filter: 'cargo|node' } },
  ],
  effects: () => [{ kind: 'proc.list' }],
  async run(args, ctx) {
    const wants = args.filter === undefined ? undefined : await compile(args.filter);
    const { processes, total } = await ctx.processes.list({ wants, limit: args.limit });
    return {
      processes: processes.map(({ memMb, startedMs, ...rest }) => ({
        ...rest,
        mem_mb: memMb,
        started: new Date(startedMs).toISOString(),
      })),
      count: processes.length,
      truncated: total > processes.length,
    };
  },
});

async function compile(filter: string): Promise<(cmd: string) => boolean> {
  const compilePattern = await loadPatternCompiler();
  try {
    return compilePattern(filter);
  } catch (thrown) {
    throw fail('input.pattern', `Cannot filter processes by the pattern: ${(thrown as Error).message}`);
  }
}
