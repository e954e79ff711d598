// Owns: the numbers and switches of a narrowed policy: the smaller limit, the stricter switch.
// Refuses: rules; those of host and session are decided side by side.
import type { PolicyFile, ValidatorSetting } from '../contract/policy.ts';

export function narrowFile(host: PolicyFile, narrowing: readonly PolicyFile[]): PolicyFile {
  return narrowing.reduce(narrow, host);
}

function narrow(host: PolicyFile, session: PolicyFile): PolicyFile {
  return {
    ...host,
    ...section('budgets', smaller(host.budgets, session.budgets)),
    ...section('limits', smaller(host.limits, session.limits)),
    ...section('approvals', smaller(host.approvals, session.approvals)),
    ...section('undo', narrowUndo(host.undo, session.undo)),
    ...section('git', {
      ...host.git,
      ...(session.git?.allow_push === false ? { allow_push: false } : {}),
      ...(session.git?.require_clean_tree_for_commit ? { require_clean_tree_for_commit: true } : {}),
    }),
    ...section('ast', { ...host.ast, ...session.ast }),
    ...section('validators', stricterValidators(host.validators, session.validators)),
    ...(session.sandbox === 'required' ? { sandbox: 'required' as const } : {}),
  };
}

const section = <K extends keyof PolicyFile>(
  key: K,
  value: PolicyFile[K] | undefined,
): Partial<PolicyFile> => (value === undefined || Object.keys(value).length === 0 ? {} : { [key]: value });

/** For how long it is kept is the workspace's to say. */
function narrowUndo({ keep, ...host }: Undo = {}, { keep: _keep, ...session }: Undo = {}): Undo {
  return { ...smaller(host, session), ...(keep ? { keep } : {}) };
}

type Undo = NonNullable<PolicyFile['undo']>;

function smaller<T extends { readonly [key: string]: number | undefined }>(
  host: T | undefined,
  session: T | undefined,
): T | undefined {
  if (!session) return host;
  const merged: { [key: string]: number | undefined } = { ...host };
  for (const [key, value] of Object.entries(session)) {
    if (value !== undefined) merged[key] = Math.min(value, merged[key] ?? value);
  }
  return merged as T;
}

/** Those of the host, then what the session adds; a session cannot lower (`checkNarrowing`), so its word holds. */
function stricterValidators(
  host: readonly ValidatorSetting[] = [],
  session: readonly ValidatorSetting[] = [],
): readonly ValidatorSetting[] {
  const byRule = new Map(host.map((setting) => [setting.rule, setting]));
  for (const setting of session) byRule.set(setting.rule, setting);
  return [...byRule.values()];
}
