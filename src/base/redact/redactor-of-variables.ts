// Owns: hiding the values of variables whose names say that they are secret, in what a program that has them prints.
// Refuses: to load the redactor where there is nothing to hide.
import type { Redactor } from './create-redactor.ts';

export async function redactorOfVariables(
  env: Readonly<Record<string, string>>,
): Promise<Redactor | undefined> {
  if (Object.keys(env).length === 0) return undefined;
  const [{ createRedactor }, { isSecretKey }] = await Promise.all([
    import('./create-redactor.ts'),
    import('./secret-keys.ts'),
  ]);
  const secrets = Object.entries(env).filter(([name, value]) => isSecretKey(name) && value.length > 3);
  return secrets.length === 0
    ? undefined
    : createRedactor({ secrets: secrets.map(([, value]) => value), guess: false });
}
