// Owns: what keys of a manifest say together: contradictions, and words that would have no effect.
// Refuses: values on their own (the table has checked them) and the disk (resolve-files).
import type { Json } from '../../contract/json.ts';
import type { Teller } from '../yaml/problem.ts';
import { type Way, wayOf, wayText } from '../yaml/way.ts';
import type { ExecutionDraft, ToolDraft } from './build-tool.ts';
import { EXECUTION_KEYS } from './execution-shape.ts';
import { isTemplate } from './text-checks.ts';

export function checkTogether(draft: ToolDraft, tell: Teller): void {
  for (const check of CHECKS) check(draft, tell);
}

type Check = (draft: ToolDraft, tell: Teller) => void;

const at = (...steps: (string | number)[]): Way | undefined => wayOf(steps);

/**
 * Exactly one key says what is run. Also for the execution of an action, once it is put over the tool's. `written` are
 * the keys that are there, also those whose values are wrong.
 */
export function checkEntry(
  execution: ExecutionDraft,
  written: ReadonlySet<string>,
  way: Way | undefined,
  tell: Teller,
): void {
  const { kind } = execution;
  const entries = kind && EXECUTION_KEYS[kind].entries;
  if (!entries) return;
  const given = entries.filter((key) => written.has(key));
  if (given.length === 1) {
    if (execution.warm && given[0] !== 'module') {
      const message = `${wayText(way)}.warm: only a module can stay between calls; a ${given[0]} ends with each`;
      tell.error(
        'execution.warm',
        { up: way, step: 'warm' },
        message,
        kind === 'php' ? undefined : 'name a module',
      );
    }
    return;
  }
  const names = entries.join(' or ');
  if (given.length === 0)
    tell.error('execution.entry', way, `${wayText(way)} of kind ${kind} needs ${names}`);
  else
    tell.error(
      'execution.entry',
      way,
      `${wayText(way)} needs one of ${names}, and has ${given.join(' and ')}`,
      'keep one of them',
    );
}

const CHECKS: readonly Check[] = [
  function network({ execution, caps }, tell) {
    const scheme = /^https?(?=:)/.exec(execution?.url ?? '')?.[0];
    const granted = caps?.network;
    if (!scheme || !granted || granted.includes(scheme as 'http') || granted.includes(undefined)) return;
    const message = `caps.network: the url is ${scheme}, which is not among them`;
    tell.error('caps.network', at('caps', 'network'), message, `[${[...granted, scheme].join(', ')}]`);
  },

  function body({ execution }, tell) {
    if (execution?.body === undefined || !/^(get|head)$/i.test(execution.method ?? '')) return;
    tell.error(
      'execution.body',
      at('execution', 'body'),
      `execution.body: ${execution.method} sends no body`,
      'method: POST',
    );
  },

  function unusedInput({ execution, templating, actions }, tell) {
    if (execution?.kind !== 'http' || tell.errors > 0 || actions) return;
    if (execution.body !== undefined || !/^(get|head)$/i.test(execution.method ?? 'GET')) return;
    if (templating && holdsTemplate(execution)) return;
    const message = 'execution: nothing of the input is sent: there is neither a body nor a template';
    tell.warn('execution.input_unused', at('execution'), message, 'method: POST sends it as JSON');
  },

  function environment({ env, credentials }, tell) {
    const set = Object.keys(env?.set ?? {});
    for (const [index, name] of (env?.passthrough ?? []).entries()) {
      if (name === undefined || !set.includes(name)) continue;
      const message = `env.passthrough[${index}]: ${name} is also in env.set`;
      tell.error('env.conflict', at('env', 'passthrough', index), message, 'keep one of them');
    }
    const taken = new Map([...set, ...(env?.passthrough ?? [])].map((name) => [name, 'env']));
    for (const [provider, credential] of Object.entries(credentials ?? {})) {
      for (const name of Object.keys(credential?.env ?? {})) {
        const other = taken.get(name);
        taken.set(name, `credentials.${provider}`);
        if (!other) continue;
        const message = `credentials.${provider}.env: ${name} is also set by ${other}`;
        tell.key('env.conflict', at('credentials', provider, 'env', name), message, 'keep one of them');
      }
    }
  },

  function templates({ templating, execution, env, deterministic, actions }, tell) {
    for (const name of Object.keys(templating?.context ?? {})) {
      if (!RESERVED.has(name)) continue;
      const message = `templating.context: ${name} is a name that templates have already`;
      tell.key('templating.reserved', at('templating', 'context', name), message);
    }
    const isRun = deterministic !== false || Object.values(actions ?? {}).some((one) => one?.deterministic);
    if (templating?.cacheKey !== undefined && !isRun) {
      const message = 'templating.cacheKey: it has no effect, because the tool is not deterministic';
      tell.error('templating.cache_key', at('templating', 'cacheKey'), message, 'remove it');
    }
    if (templating) return;
    const { cmd, url, headers, body } = execution ?? {};
    if (![cmd, url, headers, body, env?.set].some(holdsTemplate)) return;
    const found = texts({ execution: { cmd, url, headers, body }, env: { set: env?.set } }).find(({ text }) =>
      isTemplate(text),
    );
    if (!found) return;
    const message = `${wayText(found.way)}: it holds braces of a template, which are sent as they are: there is no templating`;
    tell.warn('templating.missing', found.way, message, 'templating: { engine: jinja2 }');
  },

  function secrets({ credentials, execution, templating }, tell) {
    for (const [provider, credential] of Object.entries(credentials ?? {})) {
      if (!credential) continue;
      const way = at('credentials', provider);
      if (credential.headers && execution?.kind !== undefined && execution.kind !== 'http') {
        const message = `${wayText(way)}.headers: only http tools send headers`;
        tell.error('credentials.headers', { up: way, step: 'headers' }, message, 'use env');
      }
      if (credential.context && !templating) {
        const message = `${wayText(way)}.context: there is no templating that could see it`;
        tell.error(
          'credentials.context',
          { up: way, step: 'context' },
          message,
          'templating: { engine: jinja2 }',
        );
      }
      const fields = fieldsOf(credential.schema);
      for (const [name, field] of Object.entries(credential.env ?? {})) {
        if (field === undefined || !fields || fields.includes(field)) continue;
        const message = `${wayText(way)}.env.${name}: the secret has no field ${JSON.stringify(field)}; it has ${fields.join(', ')}`;
        tell.error('credentials.field', { up: { up: way, step: 'env' }, step: name }, message);
      }
    }
  },

  /** What only a program could use. */
  function withoutProgram({ execution, caps, env, templating, credentials }, tell) {
    if (execution?.kind !== 'http') return;
    const refuse = (way: Way | undefined, code: string, fact: string, hint: string) =>
      tell.error(code, way, `${wayText(way)}: ${fact}`, hint);
    const fact = 'an http tool has no program that could use it';
    if (caps?.filesystem) refuse(at('caps', 'filesystem'), 'caps.filesystem', fact, 'remove it');
    if (caps?.subprocess) refuse(at('caps', 'subprocess'), 'caps.subprocess', fact, 'remove it');
    if (env && !templating)
      refuse(
        at('env'),
        'env.unused',
        'an http tool has no program, and there is no templating that could see it',
        'remove it',
      );
    for (const [provider, credential] of Object.entries(credentials ?? {}))
      if (credential?.env) refuse(at('credentials', provider, 'env'), 'credentials.env', fact, 'use headers');
  },

  function reliability(draft, tell) {
    const { retry, health, execution, mutates, caps, actions } = draft;
    const http = execution?.kind === undefined ? undefined : execution.kind === 'http';
    if (http === false && (retry?.attempts ?? 1) > 1 && !isIdempotent(draft)) {
      const message = 'retry: a program that failed is run again only where the tool is idempotent';
      tell.warn('retry.unused', at('retry'), message, 'idempotent: true, if running it twice does no harm');
    }
    if (retry?.onStatus && http === false) {
      tell.error(
        'retry.invalid',
        at('retry', 'onStatus'),
        'retry.onStatus: only http tools have a status',
        'remove it',
      );
    }
    if (retry?.delayMs !== undefined && retry.maxDelayMs !== undefined && retry.maxDelayMs < retry.delayMs) {
      tell.error(
        'retry.invalid',
        at('retry', 'maxDelayMs'),
        `retry.maxDelayMs: it is less than delayMs, ${retry.delayMs}`,
      );
    }
    if (!health?.strategy) return;
    const wrong = (key: string, fact: string, hint?: string) =>
      tell.error('health.invalid', at('health', key), `health.${key}: ${fact}`, hint);
    const { strategy } = health;
    if (strategy === 'endpoint' && health.url === undefined) wrong('strategy', 'endpoint needs a url');
    if (strategy !== 'endpoint' && health.url !== undefined)
      wrong('url', `${strategy} has no use for it`, 'remove it');
    if (strategy !== 'ping' && health.input !== undefined)
      wrong('input', `${strategy} has no use for it`, 'remove it');
    if (strategy === 'process' && http) wrong('strategy', 'an http tool has no process', 'connection');
    if (strategy === 'connection' && http === false)
      wrong('strategy', 'only http tools have a host', 'process');
    if (strategy !== 'ping') return;
    const writes = (caps?.filesystem?.write?.length ?? 0) > 0;
    if (mutates ?? writes)
      wrong('strategy', 'ping calls the tool, and this one changes the workspace', 'process');
    if (actions) wrong('strategy', 'ping calls the tool, and one with actions cannot be called', 'process');
  },

  function mutation({ mutates, caps }, tell) {
    if (mutates !== false || !caps?.filesystem?.write?.length) return;
    tell.error(
      'mutates.contradicted',
      at('mutates'),
      'mutates: it is false, and caps.filesystem.write names paths',
      'mutates: true',
    );
  },

  /** What it answers would depend on more than anybody can look up again, or be more than its answer. */
  function replay({ deterministic, actions, execution, caps }, tell) {
    // With actions, the tool alone cannot be called.
    const inherits = !actions || Object.values(actions).some((one) => one?.deterministic === undefined);
    const ways = [
      ...(deterministic === true && inherits ? [at('deterministic')] : []),
      ...Object.entries(actions ?? {}).flatMap(([name, action]) =>
        action?.deterministic === true ? [at('actions', name, 'deterministic')] : [],
      ),
    ];
    const facts = [
      ...(execution?.kind === 'http'
        ? ['it is an http tool, and what a service answers can be another thing tomorrow']
        : []),
      ...(execution?.kind !== 'http' && caps?.network?.length
        ? ['caps.network lets it ask others, and what they answer can be another thing tomorrow']
        : []),
      ...(caps?.filesystem?.write?.length
        ? ['caps.filesystem.write lets it write files, and a replay writes none']
        : []),
    ];
    for (const way of ways)
      for (const fact of facts)
        tell.error('deterministic.contradicted', way, `${wayText(way)}: it is true, and ${fact}`, 'false');
  },

  function inputType({ inputSchema }, tell) {
    const { type } = (inputSchema ?? {}) as { readonly type?: string | readonly string[] };
    if (type === undefined || [type].flat().includes('object')) return;
    tell.warn(
      'schema.input_type',
      at('inputSchema', 'type'),
      'inputSchema.type: a call gives an object, so none can fit',
    );
  },
];

/** It, or one of its actions. */
const isIdempotent = (draft: ToolDraft): boolean =>
  [draft, ...Object.values(draft.actions ?? {})].some(
    (one) => one?.idempotent ?? one?.deterministic ?? false,
  );

const RESERVED = new Set(['input', 'env', 'action', 'config', 'credentials', 'id', 'version']);

/** The names that a secret of this schema can have; undefined where it says nothing about them. */
function fieldsOf(schema: unknown): string[] | undefined {
  if (schema === undefined) return ['token'];
  const { properties } = (typeof schema === 'object' ? schema : {}) as { readonly properties?: object };
  return properties && Object.keys(properties);
}

function holdsTemplate(value: unknown): boolean {
  if (typeof value === 'string') return isTemplate(value);
  return typeof value === 'object' && value !== null && Object.values(value).some(holdsTemplate);
}

/** Every text in a value, with the way to it. */
function texts(value: unknown, way?: Way): { readonly text: string; readonly way: Way | undefined }[] {
  if (typeof value === 'string') return [{ text: value, way }];
  if (typeof value !== 'object' || value === null) return [];
  if (Array.isArray(value)) return value.flatMap((item, step) => texts(item, { up: way, step }));
  return Object.entries(value as { readonly [key: string]: Json }).flatMap(([step, inner]) =>
    texts(inner, { up: way, step }),
  );
}
