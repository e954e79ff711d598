// Owns: `haft policy hash`: what approvals and run identity are bound to.
// Refuses: to hash the file's bytes: comments and order of keys do not matter.
import { findListing } from '../../../runtime/find-listing.ts';
import type { Command } from '../command.ts';

export const command: Command = {
  summary: "Print the policy's hash, or its projection on one tool",
  usage: '[TOOL]',
  description:
    'With a tool: only what can change its output, so that an unrelated edit keeps replays. Runs of toolpacks depend on runs.limits alone.',
  examples: ['haft policy hash', 'haft policy hash file_read'],
  positionals: [0, 1],
  lenient: true,
  async run({ positionals, runtime, io, json }) {
    const [tool] = positionals;
    const host = await runtime();
    if (tool !== undefined) await findListing(host, tool);
    const engine = host.policy.current;
    const hash = tool === undefined ? engine.hash : engine.hashFor(tool);
    io.out(json ? `${JSON.stringify({ ...(tool === undefined ? {} : { tool }), hash })}\n` : `${hash}\n`);
    return 0;
  },
};
