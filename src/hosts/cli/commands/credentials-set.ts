// Owns: `haft credentials set`: a secret from standard input or a prompt, kept encrypted.
// Refuses: a secret on the command line: it would be in the shell's history and in the list of processes.
import type { CredentialNeed, Secret } from '../../../contract/credentials.ts';
import { fail } from '../../../contract/errors.ts';
import { credentialNeeds } from '../../../preset/credential-needs.ts';
import { withCredentials } from '../../../preset/open-credentials.ts';
import { localPerson, recordManagement } from '../../../preset/record-management.ts';
import type { Command, Io } from '../command.ts';
import { credentialKey, USER_OPTION, whose } from '../credential-key.ts';

const LARGEST = 64 * 1024;
/** Shorter ones are not looked for in what tools answer; they would hide ordinary words. */
const SHORTEST_HIDDEN = 4;

export const command: Command = {
  summary: 'Keep a secret, encrypted, for the tools that need it',
  usage: 'PROVIDER',
  description:
    'The value is asked for without showing it, or read from standard input; never from the command line. ' +
    'Without --user it is for every workspace of whoever runs Haft on this machine.',
  options: {
    field: {
      type: 'string',
      value: 'NAME',
      multiple: true,
      help: 'a field of the secret (default: those that tools want, else token). Several come from a pipe as one JSON object',
    },
    ...USER_OPTION,
  },
  examples: [
    'haft credentials set github',
    'pass show github | haft credentials set github',
    'haft credentials set smtp --field user --field password',
    'haft credentials set github --user ada',
  ],
  positionals: [1, 1],
  async run({ positionals, flags, workspace, io, json }) {
    const key = credentialKey(positionals[0]!, flags.user);
    const needs = await credentialNeeds(workspace);
    const fields = (flags.field as readonly string[] | undefined) ?? usualFields(needs, key.provider);
    const secret = io.askSecret ? await ask(io.askSecret, fields, key.provider) : await read(io, fields);
    await withCredentials(workspace, (credentials) => credentials.set(key, secret, needs));
    const facts = { provider: key.provider, owner: whose(key), fields: [...fields] };
    await recordManagement(workspace, { action: 'haft credentials set', by: localPerson(), facts });
    if (json) io.out(`${JSON.stringify({ set: { ...key, fields } })}\n`);
    else io.out(`set ${key.provider} (${fields.join(', ')}) for ${whose(key)}\n`);
    const short = fields.filter((field) => secret[field]!.length < SHORTEST_HIDDEN);
    if (short.length > 0)
      io.err(`haft: ${short.join(', ')}: too short to be recognised and redacted where a tool shows it\n`);
    return 0;
  },
};

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
  askSecret: NonNullable<Io['askSecret']>,
  fields: readonly string[],
  provider: string,
): Promise<Secret> {
  const secret: Record<string, string> = {};
  for (const field of fields) secret[field] = await askSecret(`${provider} ${field}: `);
  return secret;
}

async function read(io: Io, fields: readonly string[]): Promise<Secret> {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(await io.readStdin(LARGEST));
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
