// Owns: `trust`: showing a person what the policy of a workspace grants, and keeping that they trust it.
// Refuses: a yes from a pipe or a program: without a terminal it takes the hash of the file that was reviewed.
import { fail } from '../contract/errors.ts';
import { defineOperation, type Terminal } from '../contract/operation.ts';
import type { TrustHandles } from '../contract/operation-handles.ts';
import { document, flag, text, YES } from './schemas.ts';

interface TrustArgs {
  /** Several with commas. */
  readonly sha256?: string;
  readonly list?: boolean;
  readonly revoke?: boolean;
}

type Records = Awaited<ReturnType<TrustHandles['list']>>;
type Question = Awaited<ReturnType<TrustHandles['question']>>;
type Answer =
  | { readonly records: Records }
  | { readonly revoked: boolean }
  | { readonly sha256: string | null; readonly changed: boolean };

export const trust = defineOperation<TrustArgs, Answer>({
  id: 'trust',
  summary: 'Trust the policy of this workspace on this machine',
  usage: '[--sha256 HEX] [--list | --revoke]',
  description:
    'Shows what haft.yaml grants, or how it differs from what was trusted before, and asks. Until then no command uses it. ' +
    'Later edits that only narrow it stay trusted. The answer is kept in ~/.config/haft/trust, for this folder alone.',
  examples: ['haft trust', 'haft trust --workspace ~/project', 'haft trust --list', 'haft trust --revoke'],
  args: {
    sha256: text('HEX', 'trust it without asking if this is the hash of haft.yaml'),
    list: flag('list the workspaces whose policy is trusted'),
    revoke: flag('trust this workspace no longer'),
  },
  result: document({}, { trusted: {}, sha256: { type: ['string', 'null'] }, changed: YES, revoked: YES }),
  who: 'person',
  changes: true,
  async atTerminal(args, terminal, site) {
    check(args);
    const given = [args.sha256, terminal.trust].filter((text) => text !== undefined).join(',');
    const isGiven = given !== '';
    if (args.list || args.revoke) return args;
    const question = await site.trust.question();
    if (isGiven) checkGiven(hashesOf(given), question);
    if (question.state !== 'asked') return isGiven ? { sha256: given } : { sha256: question.sha256 };
    if (!terminal.json || !isGiven)
      terminal.err(`${site.workspace}\n${question.lines.map((line) => `  ${line}\n`).join('')}`);
    if (!isGiven) await askFor(terminal, question.sha256);
    return { sha256: isGiven ? given : question.sha256 };
  },
  async run(args, site) {
    check(args);
    if (args.list) return { records: await site.trust.list() };
    if (args.revoke) {
      const revoked = await site.trust.revoke();
      if (revoked) await site.record('haft trust --revoke', {});
      return { revoked };
    }
    const question = await site.trust.question();
    if (question.state === 'nothing' && (args.sha256 ?? question.sha256) === question.sha256)
      return { sha256: null, changed: false };
    if (args.sha256 === undefined && question.state === 'same')
      return { sha256: question.sha256, changed: false };
    if (args.sha256 === undefined)
      throw fail('usage', 'Cannot trust haft.yaml unseen: give the sha256 of the file that was reviewed');
    // Whoever names a file means that one, whether or not something has to be decided.
    checkGiven(hashesOf(args.sha256), question);
    const { sha256 } = question;
    const changed = question.state === 'asked';
    if (changed) {
      question.keep();
      await site.record('haft trust', { sha256 });
    }
    return { sha256, changed };
  },
  json(answer) {
    if ('records' in answer) return { trusted: answer.records };
    return 'revoked' in answer ? answer : { trusted: true, ...answer };
  },
  text(answer, { out, table, workspace }) {
    if ('records' in answer) {
      const rows = answer.records.map(({ folder, sha256, since }) => [folder, sha256.slice(0, 12), since]);
      if (rows.length === 0) return out('No policy is trusted on this machine.\n');
      return table(rows, ['FOLDER', 'SHA256', 'SINCE']);
    }
    if ('revoked' in answer) return out(answer.revoked ? 'Revoked.\n' : 'It was not trusted.\n');
    if (answer.sha256 === null)
      return out('There is no haft.yaml here: the defaults hold, and need no trust.\n');
    out(answer.changed ? `Trusted: ${workspace}\n` : 'It is trusted already.\n');
  },
});

function check({ list, revoke, sha256 }: TrustArgs): void {
  if (list && revoke) throw fail('usage', 'Cannot both list and revoke trust');
  if (sha256 !== undefined) hashesOf(sha256);
  if ((list || revoke) && sha256 !== undefined)
    throw fail('usage', 'Cannot use --sha256 with --list or --revoke: it says which haft.yaml to trust');
}

const hashesOf = (text: string): readonly string[] =>
  text.split(',').map((one) => {
    const hash = one.trim().toLowerCase();
    if (/^[0-9a-f]{64}$/.test(hash)) return hash;
    throw fail(
      'usage',
      `Cannot use the hash: "${one.slice(0, 80)}" is not a SHA-256 in hex (sha256sum haft.yaml prints it; several are separated by commas)`,
    );
  });

function checkGiven(given: readonly string[], { state, sha256 }: Question): void {
  if (state === 'nothing')
    throw fail('policy.untrusted', 'Cannot trust haft.yaml by its hash: there is none in this workspace');
  if (!given.includes(sha256))
    throw fail(
      'policy.untrusted',
      `Cannot trust haft.yaml: it is not the file with that hash (it has ${sha256}); review it again`,
      { sha256 },
    );
}

async function askFor({ ask, json }: Terminal, sha256: string): Promise<void> {
  if (!ask || json)
    throw fail(
      'usage',
      'Cannot ask whether to trust this policy: there is no terminal; a person runs haft trust in one, or gives --sha256 with the hash of the haft.yaml that was reviewed',
    );
  const answer = await ask('Trust this policy on this machine? Type yes to do so: ');
  if (!/^y(es)?$/i.test(answer))
    throw fail('policy.untrusted', 'Did not trust the policy: the answer was not yes', { sha256 });
}
