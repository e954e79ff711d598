// Owns: the two tokens of the daemon: those that were set, if they can hold anybody off, else random ones.
// Refuses: one token for both: who calls a tool would approve its own call.
import { randomBytes } from 'node:crypto';
import { fail } from '../../contract/errors.ts';

export interface DaemonTokens {
  /** For calls. */
  readonly calls: string;
  /**
   * For answering approvals and managing tools: another one, so that who calls a tool can neither approve its own call
   * nor add tools.
   */
  readonly management: string;
}

const SHORTEST = 16;
/** What a header carries as it is: a token with anything else could never be sent. */
const VISIBLE = /^[\x21-\x7e]+$/;

/** From `HAFT_TOKEN` and `HAFT_APPROVAL_TOKEN`, without white space around them; an empty one counts as not set. */
export function takeTokens(env: Readonly<Record<string, string | undefined>>): DaemonTokens {
  const calls = take(env, 'HAFT_TOKEN');
  const management = take(env, 'HAFT_APPROVAL_TOKEN');
  if (calls === management)
    throw fail(
      'usage',
      'Cannot serve: HAFT_TOKEN and HAFT_APPROVAL_TOKEN are the same, so whoever calls a tool could approve its own call; set two different ones, or leave one out and haft serve makes it up',
    );
  return { calls, management };
}

function take(env: Readonly<Record<string, string | undefined>>, name: string): string {
  const set = env[name];
  if (set === undefined || set === '') return randomBytes(24).toString('hex');
  const token = set.trim();
  const better = `set one such as "openssl rand -hex 24" prints, or leave ${name} out and haft serve makes one up`;
  if (token === '') throw fail('usage', `Cannot serve: ${name} is blank; ${better}`);
  if (!VISIBLE.test(token))
    throw fail(
      'usage',
      `Cannot serve: ${name} has characters that a header cannot carry (spaces, control or non-ASCII ones); ${better}`,
    );
  if (token.length < SHORTEST)
    throw fail(
      'usage',
      `Cannot serve: ${name} has ${token.length} characters, which can be guessed; it needs at least ${SHORTEST}: ${better}`,
    );
  return token;
}
