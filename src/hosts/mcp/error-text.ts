// Owns: a failure as a model reads it: what happened, which rule decided, what was printed until then, and what to do next.
// Refuses: advice on how to get around a rule; what a person could allow is asked of that person.
import { remedyOf } from '../../contract/error-remedies.ts';
import type { ErrorEntry } from '../../contract/errors.ts';
import { printedText } from '../../contract/printed.ts';

export function errorText(error: ErrorEntry): string {
  const { code, reason, message } = error;
  const details = (error.details ?? {}) as Readonly<Record<string, unknown>>;
  return [
    `${code} ${reason}: ${message}`,
    ...ruleOf(message, details),
    ...(typeof details.hint === 'string' && details.hint !== '' ? [`Hint: ${details.hint}`] : []),
    ...printedText(details),
    ...nextOf(error, details),
  ].join('\n');
}

type Details = Readonly<Record<string, unknown>>;

/** Most messages name it. */
function ruleOf(message: string, { rule, line }: Details): string[] {
  if (typeof rule !== 'string' || message.includes(rule)) return [];
  return [`Rule: ${rule}${typeof line === 'number' ? ` (haft.yaml line ${line})` : ''}`];
}

function nextOf(error: ErrorEntry, { admit, approval_id: approval }: Details): string[] {
  const lines = typeof admit === 'string' ? admit.trimEnd() : undefined;
  if (typeof approval === 'string') {
    const always =
      lines === undefined
        ? []
        : [
            'To be asked no more, the user allows it in haft.yaml (add this, or change the entry that is there):',
            lines,
          ];
    return [
      `What to do: ask the user to run "haft approvals grant ${approval}", then make the same call again.`,
      ...always,
    ];
  }
  if (lines !== undefined)
    return [
      'What to do: if the task needs it, ask the user to allow it in haft.yaml (add this, or change the entry that is there):',
      lines,
    ];
  const remedy = remedyOf(error);
  return remedy === undefined ? [] : [`What to do: ${remedy[0]!.toLowerCase()}${remedy.slice(1)}`];
}
