// Owns: `haft tools show`: everything that a caller can know of one tool.
// Refuses: a description of its own; it prints the tool's contract.
import { listingToWire } from '../../../contract/spelling.ts';
import { table } from '../../../contract/terminal-text.ts';
import { findListing } from '../../../runtime/find-listing.ts';
import type { Command } from '../command.ts';
import { whyDisabled } from '../describe-tool.ts';

export const command: Command = {
  summary: 'Show one tool: arguments, answer, limits, examples',
  usage: 'TOOL',
  examples: ['haft tools show file_read', 'haft tools show file_patch --json'],
  positionals: [1, 1],
  async run({ positionals, runtime, io, json }) {
    const id = positionals[0]!;
    const host = await runtime();
    const { installations } = host;
    const found = await findListing(host, id);
    const { contract, origin, enabled, health } = found;
    const pack = installations
      .all()
      .find((one) => one.tools.some((tool) => tool.contract.id === contract.id));
    const { unpinned } = pack ?? {};
    if (json) {
      io.out(
        `${JSON.stringify({ ...listingToWire(found), ...(unpinned ? { not_pinned: unpinned } : {}) })}\n`,
      );
      return 0;
    }
    const facts = [
      contract.mutates ? 'writes' : 'reads only',
      contract.idempotent ? 'idempotent' : 'not idempotent',
    ];
    if (contract.deterministic) facts.push('deterministic');
    io.out(
      `${contract.id} ${contract.version} (${origin}${enabled ? '' : ', disabled'}): ${contract.title}\n\n${contract.description}\n\n`,
    );
    io.out(
      `${facts.join(', ')}; at most ${contract.limits.timeoutMs} ms\n\narguments:\n${fields(contract.input)}\nanswer:\n${fields(contract.output)}`,
    );
    for (const { title, args } of contract.examples ?? [])
      io.out(`\n${title}:\n  haft call ${id} '${JSON.stringify(args)}'\n`);
    if (health) io.out(`\nhealth: ${`${health.status} ${health.message ?? ''}`.trimEnd()}\n`);
    const code = pack?.tools.find((tool) => tool.contract.id === contract.id)?.pins?.code;
    if (code !== undefined) io.out(`\ncode: ${code}\n`);
    for (const { what, why } of unpinned ?? []) io.out(`not pinned: ${what} (${why})\n`);
    io.err(whyDisabled([found]));
    return 0;
  },
};

interface ObjectSchema {
  readonly properties?: Readonly<
    Record<string, { type?: unknown; description?: string; default?: unknown; enum?: unknown[] }>
  >;
  readonly required?: readonly string[];
}

function fields(schema: unknown): string {
  const { properties = {}, required = [] } = schema as ObjectSchema;
  const rows = Object.entries(properties).map(
    ([name, { type, description = '', default: usual, enum: among }]) => {
      const kind = among
        ? among.map((one) => JSON.stringify(one)).join(' | ')
        : Array.isArray(type)
          ? type.join(' | ')
          : String(type ?? 'any');
      const note = required.includes(name)
        ? 'required'
        : usual === undefined
          ? ''
          : `default ${JSON.stringify(usual)}`;
      return [`  ${name}`, kind, note, description];
    },
  );
  return table(rows);
}
