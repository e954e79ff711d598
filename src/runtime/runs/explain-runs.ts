// Owns: why two runs are not the same, field by field, in words that people use for those fields.
// Refuses: hashes of hashes: what is derived from a field that differs is left out.
import { isRecord } from '../../base/is-record.ts';
import { jsonPointer } from '../../base/rejection.ts';
import type { Json, JsonObject } from '../../contract/json.ts';
import type { FieldDifference } from '../../contract/runs.ts';

type Way = readonly (string | number)[];

export function explainRuns(a: JsonObject, b: JsonObject): readonly FieldDifference[] {
  const found: FieldDifference[] = [];
  const [one, other] = isSamePolicyShape(a.policy, b.policy)
    ? [a, b].map(withoutHash)
    : [a, b].map(withoutPolicy);
  compare(withoutDerived(one!), withoutDerived(other!), [], found);
  return found;
}

const withoutDerived = ({ paramsHash: _derived, ...rest }: JsonObject): JsonObject => rest;
const withoutPolicy = ({ policy: _kept, ...rest }: JsonObject): JsonObject => rest;

/** A policy is told as its sections; what a session adds lies beside the host's. */
function withoutHash({ policyHash: _derived, policy, ...rest }: JsonObject): JsonObject {
  if (!Array.isArray(policy)) return { ...rest, policy: policy as Json };
  const [host, ...narrowing] = policy as Json[];
  return { ...rest, policy: host as Json, ...(narrowing.length > 0 ? { session: narrowing } : {}) };
}

/** Only what both have, and have in one shape, can be told field by field. */
const isSamePolicyShape = (a: Json | undefined, b: Json | undefined): boolean =>
  a !== undefined && b !== undefined && Array.isArray(a) === Array.isArray(b);

function compare(a: Json | undefined, b: Json | undefined, way: Way, found: FieldDifference[]): void {
  if (a === b) return;
  if (isRecord(a) && isRecord(b)) {
    for (const key of [...new Set([...Object.keys(a), ...Object.keys(b)])].sort())
      compare(a[key], b[key], [...way, key], found);
    return;
  }
  if (Array.isArray(a) && Array.isArray(b))
    return isPolicy(way) ? compareSets(a, b, way, found) : compareLists(a, b, way, found);
  const sides = { ...(a === undefined ? {} : { a }), ...(b === undefined ? {} : { b }) };
  found.push({ field: nameOf(way), path: jsonPointer(way), ...sides });
}

const isPolicy = ([first]: Way): boolean => first === 'policy' || first === 'session';

/** Rules are sorted, so that their places say nothing: what one of the two has not is told. */
function compareSets(a: readonly Json[], b: readonly Json[], way: Way, found: FieldDifference[]): void {
  const [one, other] = [a, b].map((list) => new Map(list.map((entry) => [JSON.stringify(entry), entry])));
  const tell = (sides: { a: Json } | { b: Json }) =>
    found.push({ field: nameOf(way), path: jsonPointer(way), ...sides });
  for (const [text, entry] of one!) if (!other!.has(text)) tell({ a: entry });
  for (const [text, entry] of other!) if (!one!.has(text)) tell({ b: entry });
}

/** Links are known by their role; everything else by its place. */
function compareLists(a: readonly Json[], b: readonly Json[], way: Way, found: FieldDifference[]): void {
  const [one, other] = [byRole(a), byRole(b)];
  if (one && other) {
    for (const role of [...new Set([...one.keys(), ...other.keys()])].sort())
      compare(one.get(role), other.get(role), [...way, role], found);
    return;
  }
  for (let n = 0; n < Math.max(a.length, b.length); n++) compare(a[n], b[n], [...way, n], found);
}

function byRole(list: readonly Json[]): ReadonlyMap<string, Json> | undefined {
  const roles = list.map((one) => (isRecord(one) && typeof one.role === 'string' ? one.role : undefined));
  if (roles.includes(undefined) || new Set(roles).size < roles.length) return undefined;
  return new Map(list.map((one, n) => [roles[n] as string, one]));
}

/** The longest way that begins like this one gives the name; what follows is said as it is. */
const NAMES: readonly { readonly way: readonly string[]; readonly name: string }[] = [
  { way: ['tool'], name: 'tool' },
  { way: ['contractVersion'], name: 'contract version' },
  { way: ['platform'], name: 'platform' },
  { way: ['policyHash'], name: 'policy for this tool' },
  { way: ['policy'], name: 'policy' },
  { way: ['session'], name: 'policy of the session' },
  { way: ['params', 'toolpack'], name: "toolpack's code" },
  { way: ['params', 'params'], name: 'parameter' },
  { way: ['params', 'image'], name: 'image' },
  { way: ['params', 'argv'], name: 'argument' },
  { way: ['params', 'env'], name: 'variable' },
  { way: ['params', 'inputs'], name: 'input' },
  { way: ['params', 'outputs'], name: 'output' },
  { way: ['params'], name: 'argument of the call' },
];

function nameOf(way: Way): string {
  const row = NAMES.find((one) => one.way.every((step, n) => way[n] === step));
  const rest = way.slice(row?.way.length ?? 0);
  return [row?.name, rest.join('.')].filter((part) => part).join(' ');
}
