// Owns: a tool of a toolpack as callers see it: the contract that its definition comes to.
// Refuses: definitions that were not checked.
import type { JsonSchema } from '../../contract/json.ts';
import { type DeclaredOutput, outputPlace } from '../../contract/plan.ts';
import type { ToolContract } from '../../contract/tool.ts';
import type { ToolDefinition } from '../../contract/toolpack.ts';

/** The fields of a definition that kept every rule. */
export interface ToolFields
  extends Omit<ToolDefinition, 'abiVersion' | 'input' | 'result' | 'canonicalize' | 'run'> {
  readonly input: JsonSchema;
  readonly result?: JsonSchema;
}

/** A job may wait in a queue for long before it runs. */
const TIMEOUT_MS = 24 * 3_600_000;
const INPUT_BYTES = 1024 * 1024;
const OUTPUT_BYTES = 16 * 1024 * 1024;

export function contractOf(fields: ToolFields, version: string): ToolContract {
  const {
    toolName,
    contractVersion,
    title,
    description,
    tags = [],
    input,
    result,
    limits = {},
    examples,
  } = fields;
  return {
    id: toolName,
    version,
    contract: contractVersion,
    title: title ?? toolName,
    description,
    tags,
    input,
    output: {
      type: 'object',
      required: ['result', 'outputs'],
      additionalProperties: false,
      properties: {
        result: result === undefined ? { type: 'object' } : onItsOwn(result, fields),
        outputs: OUTPUTS,
      },
    },
    deterministic: true,
    idempotent: true,
    mutates: false,
    limits: {
      timeoutMs: limits.timeoutMs ?? TIMEOUT_MS,
      maxInputBytes: limits.maxInputBytes ?? INPUT_BYTES,
      maxOutputBytes: OUTPUT_BYTES,
    },
    ...(examples ? { examples } : {}),
  };
}

/** References in it mean places in itself. */
function onItsOwn(schema: JsonSchema, { toolName, contractVersion }: ToolFields): JsonSchema {
  if (typeof schema === 'boolean' || !JSON.stringify(schema).includes('"$ref"')) return schema;
  return { $id: `urn:haft:result:${toolName}:${contractVersion}`, ...schema };
}

const OUTPUTS: JsonSchema = {
  type: 'array',
  description: 'The artifacts that the run made, the log last.',
  items: {
    type: 'object',
    required: ['role', 'type', 'label', 'artifact_id', 'size'],
    additionalProperties: false,
    properties: {
      role: { type: 'string' },
      type: { type: 'string' },
      label: { type: 'string' },
      artifact_id: { type: 'string', pattern: '^sha256:[0-9a-f]{64}$' },
      size: { type: 'integer', minimum: 0 },
    },
  },
};

/** With their places normal, in the order of their places. */
export function outputsOf({ declaredOutputs }: ToolFields): readonly DeclaredOutput[] {
  const outputs = declaredOutputs.map(({ role, type, label, srcRelpath = `out/${role}` }) => {
    const place = outputPlace(srcRelpath);
    return { role, type, label, src: place.ok ? place.path : role };
  });
  return outputs.sort((a, b) => (a.src < b.src ? -1 : 1));
}
