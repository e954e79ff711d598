// Owns: what the end of a tool's program means: an answer, a failure of its own, or a limit that it reached.
// Refuses: to take a program that was ended for one that answered.
import { bothEnds } from '../../base/bounded-buffer.ts';
import { errorLine } from '../../base/error-line.ts';
import type { InvocationResult } from '../../contract/adapter.ts';
import { fail } from '../../contract/errors.ts';
import type { SandboxResult } from '../../contract/sandbox.ts';
import { tooLarge } from '../answer-reader.ts';
import { readAnswerText } from '../answer-text.ts';
import type { YamlUse } from '../yaml-use.ts';

/** How much of stderr goes into the details of a failure. */
const STDERR_BYTES = 2048;

/** Throws where it was ended from outside. */
export function checkEnd({ id, limits, timeoutMs }: YamlUse, result: SandboxResult): void {
  if (result.timedOut)
    throw fail('time.deadline', `Cannot finish "${id}": its program ran longer than ${timeoutMs} ms`);
  if (result.limitHit === 'output') throw tooLarge(id, limits.maxOutputBytes);
  if (result.limitHit !== undefined)
    throw fail(
      'sandbox.limit',
      `Cannot finish "${id}": its program reached the limit of ${result.limitHit}`,
      {
        limit: result.limitHit,
      },
    );
}

/** How a program ended. */
export interface ProgramEnd {
  readonly code: number | null;
  readonly signal?: string | null;
  readonly stderr: string;
}

export function readOutcome({ outputSchema }: YamlUse, text: string, end: ProgramEnd): InvocationResult {
  const { code, signal, stderr } = end;
  const answer = readAnswerText(text, outputSchema);
  if (code === 0 && answer) return answer;
  const said = { stderr: bothEnds(stderr, STDERR_BYTES) };
  if (code === 0)
    return {
      ok: false,
      message: 'its program did not answer with JSON',
      details: { ...said, stdout: text.slice(0, STDERR_BYTES) },
    };
  if (answer && !answer.ok)
    return { ...answer, details: { ...(answer.details as object), exit_code: code, ...said } };
  const how = signal ? `was ended by ${signal}` : `ended with code ${code}`;
  const last = errorLine(stderr)?.slice(0, 300);
  return {
    ok: false,
    message: `its program ${how}${last ? `: ${last}` : ''}`,
    details: { exit_code: code, ...(signal ? { signal } : {}), ...said },
  };
}
