// Owns: how records of the runtime are spelled when they leave it as JSON: their field names in snake_case, like envelopes.
// Refuses: to touch what callers and tools wrote: only names that the contract gives are converted.
import type { ToolListing } from './runtime.ts';
import type { Approval, AuditRow } from './store.ts';
import type { ToolContract } from './tool.ts';

type Wire = { readonly [field: string]: unknown };

export function auditRowToWire(row: AuditRow): Wire {
  return { ...toWire(row), changes: row.changes.map(toWire) };
}

export function approvalToWire(approval: Approval): Wire {
  return toWire(approval);
}

/** What a caller is told of a tool. `limits` are those of the tool itself; the host's may be smaller. */
export function toolToWire(contract: ToolContract): Wire {
  const { id, version, title, description, tags, mutates, idempotent, deterministic } = contract;
  return {
    id,
    version,
    contract: contract.contract,
    title,
    description,
    tags,
    mutates,
    idempotent,
    deterministic,
    limits: toWire(contract.limits),
    input_schema: contract.input,
    output_schema: contract.output,
    examples: contract.examples ?? [],
  };
}

/** A tool as this host has it: what it is, where it is from, and whether and why it cannot be called. */
export function listingToWire(listing: ToolListing): Wire {
  return { ...toolToWire(listing.contract), ...toolStateToWire(listing) };
}

/** Where it is from, whether it can be used as things are, and what would let it be. */
export function toolStateToWire({ contract: _, health, ...facts }: ToolListing): Wire {
  return { ...facts, ...(health ? { health: toWire(health) } : {}) };
}

/** The names of one record; what it holds stays as it is. */
export function toWire(record: object): Wire {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [snakeCase(name), value]));
}

const snakeCase = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
