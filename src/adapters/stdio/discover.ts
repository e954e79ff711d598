// Owns: turning what a program says about its tools into tools of this host.
// Refuses: a description that could not be held against calls; each is reported, and hides no other.
import { isRecord } from '../../base/is-record.ts';
import type { JsonObject, JsonSchema } from '../../contract/json.ts';
import type { BoundTool, Installation } from '../../contract/manifest.ts';
import type { ProgramConfig } from '../program-config.ts';
import { depthFault, type LeftOut, leftOut, refuseTooMany, shownNames } from '../tool-list.ts';
import { nameTools } from '../tool-names.ts';

export interface Discovery {
  /** Sorted by id. */
  readonly tools: readonly BoundTool[];
  /** What was left out, and why, one sentence each. */
  readonly problems: readonly string[];
  /** The same, of those that have a name, by id. */
  readonly left: LeftOut;
}

const TIMEOUT_MS = 60_000;
const MAX_BYTES = 4 * 1024 * 1024;

export function discoverTools(
  { name }: Pick<Installation, 'name'>,
  listed: readonly unknown[],
  config: Pick<ProgramConfig, 'timeout_ms' | 'max_output_bytes' | 'caps'>,
): Discovery {
  refuseTooMany(name, listed.length);
  const problems: string[] = [];
  const faulty: { tool: unknown; fault: string }[] = [];
  const described = listed.filter((tool): tool is Described => {
    const fault = faultOf(tool);
    if (fault === undefined) return true;
    problems.push(`"${name}" has a tool that cannot be used: ${fault}`);
    faulty.push({ tool, fault });
    return false;
  });
  const { tools, collisions } = nameTools(name, described, (tool) => tool.name);
  for (const { id, names } of collisions)
    problems.push(`"${name}" has several tools that would be ${id}: ${shownNames(names)}`);
  const { network = [], filesystem = {} } = config.caps ?? {};
  const reaches = network.length > 0 || (filesystem.write ?? []).length > 0;
  for (const [id, { deterministic }] of tools)
    if (deterministic === true && reaches)
      problems.push(
        `"${id}" is not taken for deterministic: caps of "${name}" grant it the network or paths to write, and a replay does neither`,
      );
  const bound = [...tools].map(
    ([id, tool]): BoundTool => ({
      contract: {
        id,
        version: '1.0.0',
        contract: 'v1',
        title: textOf(tool.title) ?? tool.name,
        description: textOf(tool.description) ?? '',
        tags: ['stdio'],
        input: tool.input as JsonSchema,
        output: (tool.output as JsonSchema | undefined) ?? true,
        deterministic: tool.deterministic === true && !reaches,
        idempotent: tool.idempotent === true || tool.deterministic === true,
        mutates: tool.mutates !== false,
        limits: {
          timeoutMs: config.timeout_ms ?? TIMEOUT_MS,
          maxInputBytes: MAX_BYTES,
          maxOutputBytes: config.max_output_bytes ?? MAX_BYTES,
        },
      },
      binding: { adapter: 'stdio', target: { name: tool.name } satisfies JsonObject },
    }),
  );
  return {
    tools: bound.sort((a, b) => (a.contract.id < b.contract.id ? -1 : 1)),
    problems,
    left: leftOut(name, faulty, collisions),
  };
}

interface Described {
  readonly name: string;
  readonly [field: string]: unknown;
}

function faultOf(tool: unknown): string | undefined {
  if (!isRecord(tool)) return 'it is no object';
  if (typeof tool.name !== 'string' || tool.name === '') return 'it has no name';
  if (!isRecord(tool.input)) return `"${tool.name}" has no input schema`;
  if (tool.output !== undefined && !isRecord(tool.output))
    return `the output schema of "${tool.name}" is none`;
  return depthFault(tool.name, [tool.input, tool.output]);
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
