// Owns: how an installation describes a program that is kept running: command, environment, needs, reads, and the secrets that are put in when it is connected to.
// Refuses: a field that it does not know, to run anything, and to keep a filled-in config.
import { existsSync } from 'node:fs';
import { isAbsolute, posix } from 'node:path';
import { canonicalJson } from '../base/canonical-json.ts';
import { modulesFolder, readCommandCode, SYSTEM_PATH } from '../base/command-code.ts';
import { digest } from '../base/digest.ts';
import type { Redactor } from '../base/redact/create-redactor.ts';
import { compileTemplate } from '../base/templating/compile-template.ts';
import { isTemplateFault } from '../base/templating/template-fault.ts';
import type { RunInputs } from '../contract/adapter.ts';
import type { ResolvedCredentials } from '../contract/credentials.ts';
import { fail } from '../contract/errors.ts';
import type { JsonObject } from '../contract/json.ts';
import type { Installation } from '../contract/manifest.ts';
import { passedVariables } from '../contract/own-variable.ts';
import {
  NO_NEEDS,
  type Program,
  type ProgramConfig,
  type ProgramNeeds,
  type ProgramStart,
} from '../contract/program.ts';
import type { ReadInputs } from '../contract/runs.ts';

/** JSON Schema of the fields that all kept programs share; an adapter adds its own. */
export const PROGRAM_CONFIG = {
  command: {
    type: 'array',
    items: { type: 'string', minLength: 1 },
    minItems: 1,
    description: 'The program and its arguments; no shell reads them.',
  },
  cwd: { type: 'string', description: 'Relative to the workspace; by default its root.' },
  parts: {
    type: 'array',
    items: { type: 'string' },
    description:
      'Folders and files that the program is made of, shown to it read-only. Those of its script are known.',
  },
  env: {
    type: 'object',
    properties: {
      passthrough: {
        type: 'array',
        items: { type: 'string' },
        description: 'Names of variables of the host that it sees; never those of Haft itself.',
      },
      set: {
        type: 'object',
        additionalProperties: { type: 'string' },
        description: 'Variables with their values, which may name secrets of `credentials`.',
      },
    },
    additionalProperties: false,
    description: 'All that it sees of the environment beside PATH, HOME, TMPDIR and LANG.',
  },
  caps: {
    type: 'object',
    properties: {
      network: {
        type: 'array',
        items: { enum: ['http', 'https'] },
        description: 'Which schemes it may connect by; to which hosts is decided by `network` of haft.yaml.',
      },
      filesystem: {
        type: 'object',
        properties: {
          read: {
            type: 'array',
            items: { type: 'string' },
            description: 'Paths of the workspace that it may read, each with all that is below.',
          },
          write: {
            type: 'array',
            items: { type: 'string' },
            description: 'Those that it may write, and so read.',
          },
        },
        additionalProperties: false,
        description: 'What it sees of the workspace beside its own code. By default nothing.',
      },
      subprocess: { type: 'boolean', description: 'Whether it may start programs; false by default.' },
    },
    additionalProperties: false,
    description: 'What it needs. Policy has to grant each, and what is not named it does not get.',
  },
  credentials: {
    type: 'array',
    items: { type: 'string', pattern: '^[a-z][a-z0-9_-]*$' },
    description: 'Providers whose secrets `env.set` and `headers` may name: {{ credentials.hub.token }}.',
  },
  start_timeout_ms: {
    type: 'integer',
    minimum: 1,
    description: 'Until it has to answer for the first time.',
  },
  idle_ms: { type: 'integer', minimum: 1, description: 'After so long without a call it is ended.' },
  timeout_ms: { type: 'integer', minimum: 1, description: 'Of one call.' },
  max_output_bytes: { type: 'integer', minimum: 1, description: 'Of one answer.' },
  health: {
    type: 'object',
    properties: {
      interval_ms: { type: 'integer', minimum: 100, description: 'Between two looks; 30000 by default.' },
      timeout_ms: { type: 'integer', minimum: 1, description: 'Of one look; 5000 by default.' },
      failure_threshold: {
        type: 'integer',
        minimum: 1,
        description: 'So many failures in a row make it unhealthy; 3 by default.',
      },
      success_threshold: {
        type: 'integer',
        minimum: 1,
        description: 'So many successes make it ready again; 1 by default.',
      },
    },
    additionalProperties: false,
    description: 'How it is looked at by a host that stays.',
  },
} as const;

/** Asked at each start of a server. */
export type StartFor = (installation: Installation) => ProgramStart;

/** The registry has held the config against the schema; this only keeps the worst from going further. */
export function programConfig(name: string, config: JsonObject): ProgramConfig {
  const { command } = config;
  const isCommand =
    Array.isArray(command) && command.length > 0 && command.every((word) => typeof word === 'string');
  if (!isCommand)
    throw fail('pack.invalid', `Cannot open "${name}": its config names no command as a list of words`);
  return config as unknown as ProgramConfig;
}

/** The copies of `start` are shown in the place of what it is made of. */
export function programOf(
  config: ProgramConfig,
  host: NodeJS.ProcessEnv = process.env,
  { parts, copies, command }: ProgramStart = { copies: [] },
): Program {
  const { caps = {}, env = {} } = config;
  return {
    argv: command ?? config.command,
    env: { ...passedVariables(env.passthrough ?? [], host), ...env.set },
    ...(config.cwd === undefined ? {} : { cwd: config.cwd }),
    needs: {
      parts: [...(config.parts ?? []), ...(parts ?? ownParts(config)), ...copies.map(({ at }) => at)],
      ...(copies.length > 0 ? { copies } : {}),
      ...(parts ? {} : { named: namedFiles(config) }),
      reads: caps.filesystem?.read ?? [],
      writes: caps.filesystem?.write ?? [],
      network: caps.network ?? [],
      subprocess: caps.subprocess ?? false,
    },
  };
}

/** What a call of a program that runs already would touch: asked with every call, so nothing is looked up for it. */
export function callNeeds({ caps = {} }: ProgramConfig, mutates: boolean): ProgramNeeds {
  const { read = [], write = [] } = caps.filesystem ?? {};
  // That it may start programs was decided when it was started.
  return { ...NO_NEEDS, reads: read, writes: mutates ? write : [], network: caps.network ?? [] };
}

/** What could be one of the workspace. */
const FILE_NAME = /^[^-/\0\n][^\0\n]{0,254}$/;

const namedFiles = ({ command, cwd = '.' }: ProgramConfig): string[] =>
  command.filter((word) => FILE_NAME.test(word)).map((word) => posix.join(cwd, word));

/**
 * Where nobody looked at its code: the folder of the program, or of the script that an interpreter is to run; all of its
 * `node_modules` where it has some. Never the workspace.
 */
function ownParts({ command, cwd = '.' }: ProgramConfig): string[] {
  const { programs, scripts, loaded, interpreter } = readCommandCode(command);
  const code = [...programs.filter((word) => word.includes('/')), ...loaded];
  const [script] = scripts;
  const words = interpreter === undefined || script === undefined ? code : [...code, script];
  const folders = words.flatMap((word) => {
    const path = isAbsolute(word) ? posix.normalize(word) : posix.join(cwd, word);
    if (SYSTEM_PATH.test(path) || (isAbsolute(path) && !existsSync(path))) return [];
    const folder = modulesFolder(path) ?? posix.dirname(path);
    return /^(\.|\.\.|\/)$|^\.\.\//.test(folder) ? [] : [folder];
  });
  return [...new Set(folders)];
}

interface ProgramInputs {
  /** Of the folder that its code lies in. */
  readonly code: string | undefined;
  /** As `caps.filesystem.read` names them. */
  readonly paths: readonly string[];
  /** Taken from the host's environment; null where they are not set there. */
  readonly passed: { readonly [name: string]: string | null };
  readonly config: JsonObject;
}

/** Without `readInputs`, a program that may read files has no run. */
export function withReads(
  inputs: RunInputs,
  { code, paths, passed, config }: ProgramInputs,
  readInputs: ReadInputs | undefined,
): RunInputs {
  const found = paths.length === 0 ? { digests: {} } : (readInputs?.(paths) ?? NOBODY);
  if ('why' in found) return { ...inputs, unknown: found.why };
  const hash = (value: object) => digest('params/v1', canonicalJson(value));
  const reads: JsonObject = {
    ...(code === undefined ? {} : { pack: code }),
    ...(paths.length === 0 ? {} : { files: found.digests }),
    ...(Object.keys(passed).length === 0 ? {} : { env: hash(passed) }),
    ...(Object.keys(config).length === 0 ? {} : { config: hash(config) }),
  };
  return Object.keys(reads).length === 0 ? inputs : { ...inputs, reads };
}

const NOBODY = { why: 'nobody is there to read what caps.filesystem.read names' };

/** How the preset gives a server the secrets that its config names. Rejects where one of them is missing. */
export type SecretsFor = (
  installation: Installation,
  providers: readonly string[],
) => Promise<ResolvedCredentials>;

/** What may hold a secret. */
interface Fillable extends Pick<ProgramConfig, 'env' | 'credentials'> {
  readonly headers?: Readonly<Record<string, string>>;
}

interface Filled<C> {
  readonly config: C;
  /** Of the secrets that were asked for; undefined where none was. */
  readonly redactor: Redactor | undefined;
}

export async function fillConfig<C extends Fillable>(
  config: C,
  installation: Installation,
  secretsFor: SecretsFor | undefined,
  host: NodeJS.ProcessEnv = process.env,
): Promise<Filled<C>> {
  const { credentials = [], env = {}, headers } = config;
  const texts = [...Object.values(env.set ?? {}), ...Object.values(headers ?? {})];
  if (!texts.some((text) => text.includes('{{'))) return { config, redactor: undefined };
  if (credentials.length > 0 && !secretsFor)
    throw fail(
      'credentials.missing',
      `Cannot connect to "${installation.name}": there are no credentials here`,
    );
  const found = credentials.length > 0 ? await secretsFor?.(installation, credentials) : undefined;
  const context = { credentials: found?.secrets ?? {}, env: passedVariables(env.passthrough ?? [], host) };
  const fill = (all: Readonly<Record<string, string>>, where: string): Record<string, string> =>
    Object.fromEntries(
      Object.entries(all).map(([name, text]) => {
        try {
          return [name, compileTemplate(text).render(context)];
        } catch (thrown) {
          if (!isTemplateFault(thrown)) throw thrown;
          const fact = `Cannot fill in ${where}.${name} of "${installation.name}": ${thrown.message}`;
          throw fail('pack.invalid', fact);
        }
      }),
    );
  const filled = {
    ...config,
    ...(env.set ? { env: { ...env, set: fill(env.set, 'env.set') } } : {}),
    ...(headers ? { headers: fill(headers, 'headers') } : {}),
  };
  return { config: filled, redactor: found?.redactor };
}
