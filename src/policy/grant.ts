// Owns: what haft.yaml would have to say to admit a call: merging such grants, and writing them as YAML.
// Refuses: reading YAML; putting a grant into a file is the loader's `applyAdmit`.
import { ruleIdentity } from '../contract/policy-match.ts';
import type { Grant } from './section.ts';

/** All of them at once. */
export function mergeGrants(grants: readonly Grant[]): Grant {
  return grants.reduce<Node>((merged, grant) => merge(merged, grant as Node), {}) as Grant;
}

/** Block YAML, ending in a line break. */
export const renderGrant = (grant: Grant): string => renderMap(grant as NodeMap, '');

type Node = string | number | boolean | readonly Node[] | NodeMap;
interface NodeMap {
  readonly [key: string]: Node;
}

const isMap = (node: Node | undefined): node is NodeMap => typeof node === 'object' && !Array.isArray(node);
const isList = (node: Node | undefined): node is readonly Node[] => Array.isArray(node);

function merge(one: Node | undefined, other: Node): Node {
  if (isList(one) && isList(other)) return mergeLists(one, other);
  if (!isMap(one) || !isMap(other)) return other;
  const merged: { [key: string]: Node } = { ...one };
  for (const [key, value] of Object.entries(other)) merged[key] = merge(one[key], value);
  return merged;
}

function mergeLists(one: readonly Node[], other: readonly Node[]): readonly Node[] {
  const byIdentity = new Map(one.map((entry) => [ruleIdentity(entry), entry]));
  for (const entry of other) {
    const key = ruleIdentity(entry);
    const known = byIdentity.get(key);
    byIdentity.set(key, isMap(known) && isMap(entry) ? { ...known, ...entry } : entry);
  }
  return [...byIdentity.values()];
}

function renderMap(map: NodeMap, indent: string): string {
  return Object.entries(map)
    .map(([key, value]) => `${indent}${key}:${renderValue(value, indent)}`)
    .join('');
}

function renderValue(value: Node, indent: string): string {
  const inner = `${indent}  `;
  if (isMap(value)) return `\n${renderMap(value, inner)}`;
  if (!isList(value)) return ` ${renderScalar(value)}\n`;
  return `\n${value.map((entry) => renderEntry(entry, inner)).join('')}`;
}

function renderEntry(entry: Node, indent: string): string {
  if (isMap(entry)) return `${indent}- ${renderMap(entry, `${indent}  `).slice(indent.length + 2)}`;
  return `${indent}- ${renderScalar(entry)}\n`;
}

const PLAIN = /^[A-Za-z/.][A-Za-z0-9_./-]*$/;
/** Words that YAML reads as something else than text. */
const RESERVED = /^(true|false|null|yes|no|on|off|~|\.nan|[-+]?\.inf)$/i;

function renderScalar(value: Node): string {
  if (typeof value !== 'string') return String(value);
  if (PLAIN.test(value) && !RESERVED.test(value) && !/^[.\d]+$/.test(value)) return value;
  // Single quotes hold anything that can be printed on one line; JSON's escapes are YAML's as well.
  return /[\p{Cc}\p{Zl}\p{Zp}\ufeff]/u.test(value)
    ? JSON.stringify(value)
    : `'${value.replaceAll("'", "''")}'`;
}
