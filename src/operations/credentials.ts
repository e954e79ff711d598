// Owns: the operations on the secrets that tools need: keeping, listing, checking and forgetting them.
// Refuses: to show a value; and a secret on the command line: it would be in the shell's history and in the list of processes.
import type {
  CredentialFinding,
  CredentialKey,
  CredentialListing,
  CredentialNeed,
  Secret,
} from '../contract/credentials.ts';
import { ERRORS, fail } from '../contract/errors.ts';
import { type Argument, defineOperation, type Terminal } from '../contract/operation.ts';
import { toWire } from '../contract/spelling.ts';
import { document, list as listOf, text, word, YES } from './schemas.ts';

const LARGEST = 64 * 1024;
/** Shorter ones are not looked for in what tools answer; they would hide ordinary words. */
const SHORTEST_HIDDEN = 4;

const PROVIDER: Argument = word('what it is for, such as github');
const USER: Argument = text(
  'ID',
  'of this user of the workspace: in sessions with an attribution of {"user": ID}',
);

interface SetArgs {
  readonly provider: string;
  readonly user?: string;
  readonly field?: readonly string[];
  readonly secret: Secret;
}

export const credentialsSet = defineOperation<
  SetArgs,
  { readonly key: CredentialKey; readonly fields: readonly string[]; readonly short: readonly string[] }
>({
  id: 'credentials.set',
  summary: 'Store a secret, encrypted, for the tools that need it',
  description:
    'The value is asked for without showing it, or read from standard input; never from the command line. ' +
    'Without --user it is for every workspace of whoever runs Haft on this machine.',
  examples: [
    'haft credentials set github',
    'pass show github | haft credentials set github',
    'haft credentials set smtp --field user --field password',
    'haft credentials set github --user ada',
  ],
  args: {
    provider: PROVIDER,
    field: {
      type: 'array',
      placeholder: 'NAME',
      local: true,
      description:
        'a field of the secret (default: those that tools want, else token). Several come from a pipe as one JSON object',
    },
    user: USER,
    secret: {
      type: 'object',
      required: true,
      secret: true,
      description: 'texts by field; a plain token is {"token": …}',
    },
  },
  result: document({ set: { type: 'object', description: 'provider, owner and fields, without values' } }),
  who: 'person',
  changes: true,
  async atTerminal(args, terminal, { credentialNeeds }) {
    const key = credentialKey(args.provider, args.user);
    const fields = args.field ?? usualFields(await credentialNeeds(), key.provider);
    const { askSecret } = terminal;
    return {
      ...args,
      secret: askSecret ? await ask(askSecret, fields, key.provider) : await read(terminal, fields),
    };
  },
  async run({ provider, user, secret }, { credentials, credentialNeeds, record }) {
    const key = credentialKey(provider, user);
    const fields = Object.keys(secret);
    if (fields.length === 0 || fields.some((field) => typeof secret[field] !== 'string'))
      throw fail(
        'credentials.schema',
        'Cannot keep the secret: it is an object of texts, one for each field',
      );
    const needs = await credentialNeeds();
    await credentials((all) => all.set(key, secret, needs));
    await record('haft credentials set', { provider: key.provider, owner: whose(key), fields });
    return { key, fields, short: fields.filter((field) => secret[field]!.length < SHORTEST_HIDDEN) };
  },
  json: ({ key, fields }) => ({ set: { ...key, fields } }),
  text({ key, fields, short }, { out, err }) {
    out(`set ${key.provider} (${fields.join(', ')}) for ${whose(key)}\n`);
    if (short.length > 0)
      err(`haft: ${short.join(', ')}: too short to be recognised and redacted where a tool shows it\n`);
  },
});

export const credentialsList = defineOperation<object, readonly CredentialListing[]>({
  id: 'credentials.list',
  summary: 'List the credentials, without their values',
  examples: ['haft credentials list', 'haft credentials list --json'],
  args: {},
  result: document({ credentials: listOf('By provider, then by owner; never a value.') }),
  who: 'person',
  run: (_, { credentials }) => credentials((all) => all.list()),
  json: (listed) => ({ credentials: listed.map(toWire) }),
  text(listed, { out, table, time }) {
    if (listed.length === 0) return out('No credentials are set.\n');
    const rows = listed.map((one) => [one.provider, whose(one), one.fields.join(', '), time(one.updatedTs)]);
    table(rows, ['PROVIDER', 'WHOSE', 'FIELDS', 'SET']);
  },
});

export const credentialsRemove = defineOperation<
  { readonly provider: string; readonly user?: string },
  CredentialKey
>({
  id: 'credentials.remove',
  summary: 'Delete a credential',
  examples: ['haft credentials remove github', 'haft credentials remove github --user ada'],
  args: { provider: PROVIDER, user: USER },
  result: document({ removed: { type: 'object', description: 'provider and owner' } }),
  who: 'person',
  changes: true,
  async run({ provider, user }, { credentials, record }) {
    const key = credentialKey(provider, user);
    if (!(await credentials((all) => all.remove(key)))) {
      const message = `Cannot remove the credential of "${key.provider}" of ${whose(key)}: it is not set`;
      throw fail('credentials.missing', message);
    }
    await record('haft credentials remove', { provider: key.provider, owner: whose(key) });
    return key;
  },
  json: (removed) => ({ removed }),
  text: (key, { out }) => out(`removed ${key.provider} of ${whose(key)}\n`),
});

interface Checked {
  readonly findings: readonly CredentialFinding[];
  readonly missing: readonly { readonly provider: string; readonly by: string }[];
}

export const credentialsCheck = defineOperation<object, Checked>({
  id: 'credentials.check',
  summary: 'Check that every credential can be opened, fits, and was not changed',
  description: 'Also names those that tools need and nobody has set for the system; then it fails, too.',
  examples: ['haft credentials check', 'haft credentials check --json'],
  args: {},
  result: document({
    ok: YES,
    credentials: listOf('Of each, whether it can be opened.'),
    missing: listOf('What tools need and nobody has set.'),
  }),
  who: 'person',
  async run(_, { credentials, credentialNeeds }) {
    const needs = await credentialNeeds();
    return credentials(async (all) => {
      const missing = await all.missing(
        needs.filter(({ scope }) => scope !== 'user'),
        '',
      );
      return {
        findings: await all.check(needs),
        missing: missing.map((need) => ({
          provider: need.provider,
          by: (need as (typeof needs)[number]).by,
        })),
      };
    });
  },
  json: ({ findings, missing }) => ({
    ok: findings.every(({ ok }) => ok) && missing.length === 0,
    credentials: findings,
    missing,
  }),
  text({ findings, missing }, { out }) {
    if (findings.length + missing.length === 0) out('No credentials are set.\n');
    for (const one of findings) out(describe(one));
    for (const { provider, by } of missing) out(`not set  ${provider}, which ${by} needs\n`);
  },
  exit({ findings, missing }) {
    const bad = findings.find((one) => !one.ok);
    if (bad?.reason) return ERRORS[bad.reason].exit;
    return missing.length > 0 ? ERRORS['credentials.missing'].exit : 0;
  },
});

const describe = (one: CredentialFinding): string =>
  `${one.ok ? 'ok    ' : 'FAILED'}   ${one.provider} of ${whose(one)}${one.ok ? '' : `: ${one.message}`}\n`;

const whose = ({ owner }: CredentialKey): string => (owner === '' ? 'system' : `user ${owner}`);

function credentialKey(provider: string, user: string | undefined): CredentialKey {
  if (!/^[a-z][a-z0-9_-]*$/.test(provider) || provider.length > 64) {
    throw fail(
      'usage',
      `Cannot use "${provider.slice(0, 80)}" as a provider: take lower-case letters, digits, _ and -, such as github`,
    );
  }
  if (user === '') throw fail('usage', 'Cannot use --user: it is empty');
  return { provider, owner: user ?? '' };
}

/** What the first tool that wants this provider must have. */
function usualFields(needs: readonly CredentialNeed[], provider: string): readonly string[] {
  const schema = needs.find((need) => need.provider === provider && typeof need.schema === 'object')?.schema;
  const { required, properties } = (schema ?? {}) as {
    readonly required?: readonly string[];
    readonly properties?: object;
  };
  const fields = required?.length ? required : Object.keys(properties ?? {});
  return fields.length > 0 ? fields : ['token'];
}

async function ask(
  askSecret: NonNullable<Terminal['askSecret']>,
  fields: readonly string[],
  provider: string,
): Promise<Secret> {
  const secret: Record<string, string> = {};
  for (const field of fields) secret[field] = await askSecret(`${provider} ${field}: `);
  return secret;
}

async function read(terminal: Terminal, fields: readonly string[]): Promise<Secret> {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(await terminal.readStdin(LARGEST));
  } catch (thrown) {
    if (!(thrown instanceof TypeError)) throw thrown;
    throw fail('credentials.schema', 'Cannot read the secret from standard input: it is not UTF-8 text');
  }
  const [only] = fields;
  return fields.length === 1 ? { [only!]: text.replace(/\r?\n$/, '') } : parseFields(text, fields);
}

/** What is wrong with the text is not said in its own words: they would show the secret. */
function parseFields(text: string, fields: readonly string[]): Secret {
  const form = `a JSON object with ${fields.join(', ')}`;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw fail('credentials.schema', `Cannot read the secret from standard input: it is not ${form}`);
  }
  const object = (typeof value === 'object' && value !== null ? value : {}) as Secret;
  const missing = fields.filter((field) => typeof object[field] !== 'string');
  const extra = Object.keys(object).filter((field) => !fields.includes(field));
  if (missing.length > 0 || extra.length > 0)
    throw fail(
      'credentials.schema',
      `Cannot read the secret from standard input: it is not ${form}, all texts`,
    );
  return object;
}
