// Owns: `haft trust`: showing a person what the policy of a workspace grants, and keeping that they trust it.
// Refuses: a yes from a pipe: without a terminal it takes the hash of the file that was reviewed.
import { fail } from '../../../contract/errors.ts';
import { table } from '../../../contract/terminal-text.ts';
import { localPerson, recordManagement } from '../../../preset/record-management.ts';
import { checkHash } from '../../../preset/trust/trust.ts';
import {
  listTrust,
  revokeTrust,
  type TrustQuestion,
  trustQuestion,
} from '../../../preset/trust/trust-question.ts';
import type { Command, Invocation } from '../command.ts';

export const command: Command = {
  summary: 'Trust the policy of this workspace on this machine',
  usage: '[--sha256 HEX] [--list | --revoke]',
  description:
    'Shows what haft.yaml grants, or how it differs from what was trusted before, and asks. Until then no command uses it. ' +
    'Later edits that only narrow it stay trusted. The answer is kept in ~/.config/haft/trust, for this folder alone.',
  options: {
    sha256: {
      type: 'string',
      value: 'HEX',
      help: 'trust it without asking if this is the hash of haft.yaml',
    },
    list: { type: 'boolean', help: 'list the workspaces whose policy is trusted' },
    revoke: { type: 'boolean', help: 'trust this workspace no longer' },
  },
  examples: ['haft trust', 'haft trust --workspace ~/project', 'haft trust --list', 'haft trust --revoke'],
  positionals: [0, 0],
  async run(invocation) {
    const { flags, workspace, io, json } = invocation;
    if (flags.list && flags.revoke) throw fail('usage', 'Cannot both list and revoke trust');
    const given = hashesOf(flags);
    if ((flags.list || flags.revoke) && flags.sha256 !== undefined)
      throw fail('usage', 'Cannot use --sha256 with --list or --revoke: it says which haft.yaml to trust');
    if (flags.list) return list(invocation);
    if (flags.revoke) {
      const revoked = revokeTrust(workspace);
      if (revoked)
        await recordManagement(workspace, { action: 'haft trust --revoke', by: localPerson(), facts: {} });
      io.out(json ? `${JSON.stringify({ revoked })}\n` : revoked ? 'Revoked.\n' : 'It was not trusted.\n');
      return 0;
    }
    const question = await trustQuestion(workspace);
    // Whoever names a file means that one, whether or not something has to be decided.
    if (given.length > 0) checkGiven(given, question);
    if (question.state === 'nothing') {
      if (json) io.out(`${JSON.stringify({ trusted: true, sha256: null, changed: false })}\n`);
      else io.out('There is no haft.yaml here: the defaults hold, and need no trust.\n');
      return 0;
    }
    if (question.state === 'asked') await decide(invocation, question, given.length > 0);
    const changed = question.state === 'asked';
    if (changed) {
      const facts = { sha256: question.sha256 };
      await recordManagement(workspace, { action: 'haft trust', by: localPerson(), facts });
    }
    if (json) io.out(`${JSON.stringify({ trusted: true, sha256: question.sha256, changed })}\n`);
    else io.out(changed ? `Trusted: ${workspace}\n` : 'It is trusted already.\n');
    return 0;
  },
};

const hashesOf = (flags: Invocation['flags']): readonly string[] =>
  [flags.sha256, flags.trust].flatMap((text) =>
    typeof text === 'string' ? text.split(',').map((one) => checkHash(one, 'the hash')) : [],
  );

function checkGiven(given: readonly string[], { state, sha256 }: TrustQuestion): void {
  if (state === 'nothing')
    throw fail('policy.untrusted', 'Cannot trust haft.yaml by its hash: there is none in this workspace');
  if (!given.includes(sha256))
    throw fail(
      'policy.untrusted',
      `Cannot trust haft.yaml: it is not the file with that hash (it has ${sha256}); review it again`,
      { sha256 },
    );
}

async function decide(
  { workspace, io, json }: Invocation,
  question: TrustQuestion,
  isGiven: boolean,
): Promise<void> {
  if (!json || !isGiven) io.err(`${workspace}\n${question.lines.map((line) => `  ${line}\n`).join('')}`);
  if (isGiven) return question.keep();
  if (!io.ask || json)
    throw fail(
      'usage',
      'Cannot ask whether to trust this policy: there is no terminal; a person runs haft trust in one, or gives --sha256 with the hash of the haft.yaml that was reviewed',
    );
  const answer = await io.ask('Trust this policy on this machine? Type yes to do so: ');
  if (!/^y(es)?$/i.test(answer))
    throw fail('policy.untrusted', 'Did not trust the policy: the answer was not yes', {
      sha256: question.sha256,
    });
  question.keep();
}

function list({ workspace, io, json }: Invocation): number {
  const records = listTrust(workspace);
  if (json) io.out(`${JSON.stringify({ trusted: records })}\n`);
  else if (records.length === 0) io.out('No policy is trusted on this machine.\n');
  else {
    const rows = records.map(({ folder, sha256, since }) => [folder, sha256.slice(0, 12), since]);
    io.out(table(rows, ['folder', 'sha256', 'since']));
  }
  return 0;
}
