// Owns: what the tools of background shells share: limits, arguments, and how a shell is shown.
// Refuses: fields of one tool only.
import type { JsonObject, JsonSchema } from '../../contract/json.ts';
import type { ShellState } from '../../contract/shells.ts';

export const SHELL_LIMITS = {
  timeoutMs: 605_000,
  maxInputBytes: 8 * 1024 * 1024,
  maxOutputBytes: 32 * 1024 * 1024,
};

/** An object of exactly these properties. */
export const object = (properties: Properties, required = Object.keys(properties)): JsonSchema => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
});

type Properties = { readonly [name: string]: JsonSchema };

export const TEXT: JsonSchema = { type: 'string' };

export const SHELL_ID: JsonSchema = {
  type: 'string',
  minLength: 1,
  maxLength: 200,
  description: 'From shell_start.',
};

/** How a shell stands. */
export const stateProperties = (): Properties => ({
  running: { type: 'boolean' },
  code: { type: 'integer', description: 'The exit code; 128 + n where signal n ended it.' },
  signal: TEXT,
  ended: {
    ...(object({ reason: TEXT, message: TEXT }) as object),
    description: 'Why it was ended, or what was found when it had.',
  },
});

export const stateData = ({ running, code, signal, ended }: ShellState): JsonObject => ({
  running,
  ...(code === null ? {} : { code }),
  ...(signal === null ? {} : { signal }),
  ...(ended ? { ended: { ...ended } } : {}),
});
