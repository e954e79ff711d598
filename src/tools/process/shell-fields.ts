// Owns: what the tools of background shells share: limits, arguments, and how a shell is shown.
// Refuses: fields of one tool only.
import type { JsonObject, JsonSchema } from '../../contract/json.ts';
import type { ShellState } from '../../contract/shells.ts';

export const SHELL_LIMITS = {
  timeoutMs: 605_000,
  maxInputBytes: 8 * 1024 * 1024,
  maxOutputBytes: 32 * 1024 * 1024,
};

export const SHELL_ID: JsonSchema = {
  type: 'string',
  minLength: 1,
  maxLength: 200,
  description: 'What shell_start answered.',
};

/** How a shell stands. */
export const STATE_PROPERTIES = (): { readonly [name: string]: JsonSchema } => ({
  running: { type: 'boolean' },
  code: { type: ['integer', 'null'], description: 'The exit code; 128 + n where signal n ended it.' },
  signal: { type: ['string', 'null'] },
  ended: {
    type: 'object',
    description: 'Why it was ended, or what was found when it had.',
    properties: { reason: { type: 'string' }, message: { type: 'string' } },
    required: ['reason', 'message'],
    additionalProperties: false,
  },
});

export const stateData = ({ running, code, signal, ended }: ShellState): JsonObject => ({
  running,
  code,
  signal,
  ...(ended ? { ended: { ...ended } } : {}),
});
