// Owns: what a toolpack made of a call before: an equal call is not asked again while all that it had asked for is the same.
// Refuses: to remember what the two processes did not agree on, and to trust an answer without asking for its grounds anew.
import { canonicalText } from '../../base/canonical-json.ts';
import { sha256Hex } from '../../base/digest.ts';
import type { Json } from '../../contract/json.ts';
import type { Asking, Toolpack } from './toolpack.ts';

interface Remembered {
  /** As JSON: nobody can change it for the next one. */
  readonly value: string;
  readonly grounds: readonly Ground[];
}

/** A question that was asked meanwhile, and what stands for its answer. */
interface Ground {
  readonly method: string;
  readonly params: readonly unknown[];
  readonly answer: string;
}

const MOST = 1_000;
/** A longer one is asked again each time. */
const LONGEST = 64 * 1024;

export function rememberCalls(canonicalize: Toolpack['canonicalize']): Toolpack['canonicalize'] {
  const known = new Map<string, Remembered>();

  return async (tool, args, how) => {
    const key = keyOf(tool, args);
    const before = key === undefined ? undefined : known.get(key);
    if (before && (await stillHold(before.grounds, how.reply)))
      return { ok: true, value: JSON.parse(before.value) };
    const { grounds, reply } = noting(how.reply);
    const answer = await canonicalize(tool, args, { ...how, reply });
    const text = answer.ok ? JSON.stringify(answer.value) : undefined;
    if (key === undefined || text === undefined || text.length > LONGEST || grounds.includes('failed'))
      return answer;
    known.delete(key);
    known.set(key, { value: text, grounds: grounds as readonly Ground[] });
    if (known.size > MOST) known.delete(known.keys().next().value!);
    return answer;
  };
}

/** Undefined for arguments that have no canonical form, or a long one. */
function keyOf(tool: string, args: Json): string | undefined {
  try {
    const text = canonicalText(args);
    return text.length > LONGEST ? undefined : `${tool} ${text}`;
  } catch {
    return undefined;
  }
}

function noting(reply: Asking['reply']): {
  readonly grounds: readonly (Ground | 'failed')[];
  readonly reply: Asking['reply'];
} {
  const grounds: (Ground | 'failed')[] = [];
  return {
    grounds,
    async reply(method, params) {
      try {
        const answer = await reply(method, params);
        grounds.push({ method, params, answer: standFor(answer) });
        return answer;
      } catch (thrown) {
        grounds.push('failed');
        throw thrown;
      }
    },
  };
}

async function stillHold(grounds: readonly Ground[], reply: Asking['reply']): Promise<boolean> {
  const asked = grounds.map(
    async ({ method, params, answer }) => standFor(await reply(method, params)) === answer,
  );
  return (await Promise.all(asked).catch(() => [false])).every(Boolean);
}

const standFor = (answer: unknown): string => sha256Hex(JSON.stringify(answer) ?? '');
