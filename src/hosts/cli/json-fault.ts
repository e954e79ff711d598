// Owns: why the JSON of a command line is broken, by the usual accidents of shells and editors, and how to write it instead.
// Not here: parsing. Nothing of the text is quoted but its punctuation, since it may hold a secret.
import { type Failure, fail } from '../../contract/errors.ts';

/** `message` is the parser's own, for what is none of the usual accidents. */
export function notJson(text: string, message: string): Failure {
  const fault = FAULTS.find(([pattern]) => pattern.test(text.trim()))?.[1];
  const fact = fault ? `Cannot read the arguments as JSON: ${fault}` : message;
  return fail('input.not_json', `${fact}; ${FORM}`);
}

export const notAnObject = (): Failure =>
  fail('input.not_json', `Cannot read the arguments: they are no JSON object; ${FORM}`);

const FORM = `write them like path=README.md, or like '{"path":"README.md"}'`;

const FAULTS: readonly (readonly [pattern: RegExp, fact: string])[] = [
  [/^$/, 'there is no text'],
  [/^\{[^"]*[\u2018-\u201e\u00ab\u00bb]/, 'it has curly quotes (“ ”) where JSON takes straight ones (")'],
  [/^\{\s*'/, `it has single quotes (') where JSON takes double ones (")`],
  [/^\{\s*[\w$-]+\s*:/, 'the keys have no quotes (the shell may have removed them)'],
  [/,\s*[}\]]/, 'it has a comma before a closing bracket'],
  [/^\{[^}]*$/, 'the closing "}" is missing'],
];
