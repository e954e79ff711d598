// Owns: what a server that did not start said last: one line for the message, and some more for who looks closer.
// Refuses: to pass on what looks like a secret, and more than a few lines.
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
  const secrets = Object.keys(env).filter(isSecretKey);
  const said = createRedactor({ secrets: secrets.map((name) => env[name] as string) }).text(
    text.slice(-4 * KEPT_LENGTH),
  );
  const lines = said
    .split('\n')
    .map((line) => line.replace(/\p{Cc}+/gu, ' ').trim())
    .filter((line) => line !== '' && !NOISE.test(line));
  const line = lines.findLast((one) => TELLING.test(one)) ?? lines.at(-1) ?? '';
  return {
    because: line === '' ? '' : `: ${line.slice(0, MESSAGE_LENGTH)}`,
    details: { stderr: said.slice(-KEPT_LENGTH) },
  };
}

/** Frames of a stack, and what Node.js writes around an error. */
const NOISE = /^(at .+|Node\.js v[\d.]+|[\^~}{)(]+)$/;
const TELLING = /\b(\w*(Error|Exception)\b.*:|cannot |no such |not found|denied)/i;
