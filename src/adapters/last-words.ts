// Owns: what a server that did not start said last: one line for the message, and some more for who looks closer.
// Refuses: to pass on what looks like a secret, and more than a few lines.
import { AROUND_ERRORS, TELLS_ERROR } from '../base/error-line.ts';
import { isSecretKey } from '../base/redact/secret-keys.ts';
import type { Program } from '../contract/program.ts';

const MESSAGE_LENGTH = 300;
const KEPT_LENGTH = 2048;

export interface LastWords {
  /** To be put behind what happened: `: Error: no key`, or nothing. */
  readonly because: string;
  readonly details?: { readonly stderr: string };
}

/** Secrets of credentials are taken out where they are known, further up. */
export async function lastWords(stderr: Uint8Array, { env }: Pick<Program, 'env'>): Promise<LastWords> {
  const text = Buffer.from(stderr).toString('utf8').trim();
  if (text === '') return { because: '' };
  const { createRedactor } = await import('../base/redact/create-redactor.ts');
  const said = createRedactor({ secrets: secretsOf(env) }).text(text.slice(-4 * KEPT_LENGTH));
  const lines = said
    .split('\n')
    .map((line) => line.replace(/\p{Cc}+/gu, ' ').trim())
    .filter((line) => line !== '' && !AROUND_ERRORS.test(line));
  const line = lines.findLast((one) => TELLS_ERROR.test(one)) ?? lines.at(-1);
  if (line === undefined) return { because: '' };
  return { because: `: ${line.slice(0, MESSAGE_LENGTH)}`, details: { stderr: said.slice(-KEPT_LENGTH) } };
}

/** What a server says in an answer, on one line and without the secrets that it was started with. */
export async function wordsOf(text: string, { env }: Pick<Program, 'env'>): Promise<string> {
  const { createRedactor } = await import('../base/redact/create-redactor.ts');
  const said = createRedactor({ secrets: secretsOf(env) }).text(text.slice(0, KEPT_LENGTH));
  return said.replace(/\p{Cc}+/gu, ' ');
}

/** Values of variables whose names say that they are secret. */
export const secretsOf = (env: Program['env']): readonly string[] =>
  Object.keys(env)
    .filter(isSecretKey)
    .map((name) => env[name] as string);
