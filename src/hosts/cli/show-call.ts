// Owns: the answer of `haft call` on a terminal, in the style that its flags ask for.
// Refuses: pipes: those get the envelope.
import type { CallResponse } from '../../contract/envelope.ts';
import type { JsonObject } from '../../contract/json.ts';
import type { DefaultRuntime } from '../../preset/default.ts';
import type { Invocation } from './command.ts';
import { showAnswer } from './show-answer.ts';
import { painter, wantsColour } from './terminal-style.ts';

export async function showCall(
  response: CallResponse,
  args: JsonObject,
  runtime: DefaultRuntime,
  { io, flags }: Invocation,
): Promise<void> {
  const listing = runtime.tools().find(({ contract }) => contract.id === response.tool);
  showAnswer(response, {
    io,
    args,
    paint: painter(wantsColour(flags.color, io.tty, process.env)),
    quiet: flags.quiet === true,
    verbose: flags.verbose === true,
    textField: listing?.contract.textField,
  });
  const [error] = response.errors;
  if (error) io.err((await import('../../contract/error-remedies.ts')).explainError(error));
}
