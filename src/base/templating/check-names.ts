// Owns: finding filters and tests that there are not, before a template is ever filled in.
// Refuses: to judge names of values; those are known only when it is.
import { checkName } from './evaluate.ts';

/** Throws a `TemplateFault` for the first that is not known. */
export function checkNames(part: unknown): void {
  if (Array.isArray(part)) {
    for (const one of part) checkNames(one);
    return;
  }
  if (typeof part !== 'object' || part === null || part instanceof Map) return;
  const node = part as { kind?: unknown; name?: unknown; line?: unknown; filters?: unknown };
  const line = Number(node.line ?? 1);
  if ((node.kind === 'filter' || node.kind === 'test') && typeof node.name === 'string')
    checkName(node.kind, node.name, line);
  if (Array.isArray(node.filters)) for (const { name } of node.filters) checkName('filter', name, line);
  for (const [key, value] of Object.entries(node)) if (key !== 'value' || isNode(value)) checkNames(value);
}

const isNode = (value: unknown): boolean => typeof value === 'object' && value !== null && 'kind' in value;
