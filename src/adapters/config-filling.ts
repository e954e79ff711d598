// Owns: secrets and variables in the config of a server: `{{ credentials.hub.token }}`, put in when it is connected to.
// Refuses: to keep a filled-in config: it is made anew for each connection, and never shown.
import { compileTemplate } from '../base/templating/compile-template.ts';
import { isTemplateFault } from '../base/templating/template-fault.ts';
import type { Secrets } from '../contract/adapter.ts';
import { fail } from '../contract/errors.ts';
import type { Installation } from '../contract/manifest.ts';
import { passedVariables } from '../contract/own-variable.ts';
import type { ProgramConfig } from './program-config.ts';

/** How the preset gives a server the secrets that its config names. Rejects where one of them is missing. */
export type SecretsFor = (installation: Installation, providers: readonly string[]) => Promise<Secrets>;

/** What may hold a secret. */
interface Fillable extends Pick<ProgramConfig, 'env' | 'credentials'> {
  readonly headers?: Readonly<Record<string, string>>;
}

export async function fillConfig<C extends Fillable>(
  config: C,
  installation: Installation,
  secretsFor: SecretsFor | undefined,
  host: NodeJS.ProcessEnv = process.env,
): Promise<C> {
  const { credentials = [], env = {}, headers } = config;
  const texts = [...Object.values(env.set ?? {}), ...Object.values(headers ?? {})];
  if (!texts.some((text) => text.includes('{{'))) return config;
  if (credentials.length > 0 && !secretsFor)
    throw fail(
      'credentials.missing',
      `Cannot connect to "${installation.name}": there are no credentials here`,
    );
  const secrets = credentials.length > 0 ? await secretsFor?.(installation, credentials) : {};
  const context = { credentials: secrets, env: passedVariables(env.passthrough ?? [], host) };
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
  return {
    ...config,
    ...(env.set ? { env: { ...env, set: fill(env.set, 'env.set') } } : {}),
    ...(headers ? { headers: fill(headers, 'headers') } : {}),
  };
}
