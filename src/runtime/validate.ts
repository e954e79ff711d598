// Owns: what happens after a call did its work: what people execute is marked, and the rules that it triggers look at it.
// Refuses: to undo; a blocking violation fails the call and says how to take the change back.
import { matchesName } from '../base/glob.ts';
import { once } from '../base/once.ts';
import type { Effect } from '../contract/effect.ts';
import { fail } from '../contract/errors.ts';
import type { JsonObject } from '../contract/json.ts';
import type { PolicyEngine } from '../contract/policy.ts';
import type { RuleSubject } from '../contract/rule.ts';
import type { RuntimeParts } from '../contract/runtime.ts';
import type { Deadline } from './limits.ts';
import type { CallRecord } from './record.ts';

interface ValidatedCall {
  readonly record: CallRecord;
  readonly args: JsonObject;
  readonly engine: PolicyEngine;
  readonly deadline: Pick<Deadline, 'signal'>;
  /** Guarded reading for rules, made only when a rule is triggered. */
  files(): RuleSubject['files'];
}

export async function validateCall(parts: RuntimeParts, call: ValidatedCall): Promise<void> {
  const { record, args, engine, deadline } = call;
  const isProgram = record.effects.some(({ kind }) => kind === 'exec');
  if (record.changes.length > 0 || isProgram) await markExecuted(record, isProgram);
  for (const setting of engine.loaded.file.validators ?? []) {
    const rule = parts.rules.find((one) => one.id === setting.rule);
    if (!rule?.triggers.some((glob) => matchesName(glob, record.tool))) continue;
    const { tool, changes, effects } = record;
    const allows = (effect: Effect) => engine.decideEffect(tool, effect).verdict !== 'deny';
    const violations = await rule.check({
      tool,
      args,
      effects,
      allows,
      changes,
      signal: deadline.signal,
      files: call.files(),
    });
    if (violations.length === 0) continue;
    const found = violations.map(
      (v) => `${[v.path, v.line].filter((part) => part !== undefined).join(':')} ${v.message}`,
    );
    if (setting.enforcement !== 'blocking') {
      for (const message of found) record.warnings.push({ reason: rule.id, message: message.trim() });
      continue;
    }
    const taken = record.intended ? `; what it changed stays until "haft undo ${record.callId}"` : '';
    const message = `Cannot accept "${tool}": ${rule.id} found ${found.join('; ')}${taken}`;
    throw fail('rule.violated', message, { rule: rule.id, violations: found });
  }
}

/** How many paths an answer and a row name. */
const MOST_NAMED = 20;

/** Not at the top: a call that only looks has no need of it. */
const loadExecutedFiles = once(() => import('../contract/executed-files.ts'));

/** Says of each file that people or their tools execute outside of the sandbox that this call wrote it. */
async function markExecuted(record: CallRecord, isProgram: boolean): Promise<void> {
  const { isExecutedByPeople } = await loadExecutedFiles();
  const written = new Set<string>();
  for (const { path, after } of record.changes)
    if (after?.type === 'file' && ((after.mode & 0o111) !== 0 || isExecutedByPeople(path))) written.add(path);
  // A redirection of a shell line is no recorded change, but it was declared.
  for (const effect of record.effects)
    if (isProgram && effect.kind === 'fs.write' && isExecutedByPeople(effect.path)) written.add(effect.path);
  if (written.size === 0) return;
  const named = [...written].slice(0, MOST_NAMED);
  const more = written.size > named.length ? ` and ${written.size - named.length} more` : '';
  const message = `people or their tools execute this outside of the sandbox: ${named.join(', ')}${more}`;
  record.warnings.push({ reason: 'file.executed_by_people', message });
  record.facts = { ...record.facts, executed_by_people: named };
}
