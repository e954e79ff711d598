// Owns: ten thousand tools as packs of services have them: names, descriptions, tags and schemas that differ.
// Refuses: chance; every run has the same tools.
import type { ToolContract } from '../src/contract/tool.ts';

const SERVICES =
  'github gitlab jira slack notion stripe postgres redis kubernetes docker grafana sentry figma linear asana zendesk hubspot salesforce twilio sendgrid'.split(
    ' ',
  );
const VERBS =
  'create list update delete search export import archive restore validate publish subscribe merge compare transfer approve assign schedule render summarise'.split(
    ' ',
  );
const NOUNS =
  'issue branch comment message channel invoice customer table key pod container dashboard alert design ticket contact report webhook pipeline secret release label milestone workflow document'.split(
    ' ',
  );

/** `count` up to 10,000: every service with every verb and noun. */
export function makeTools(count: number): readonly ToolContract[] {
  return Array.from({ length: count }, (_, n) => {
    const noun = NOUNS[n % NOUNS.length]!;
    const verb = VERBS[Math.floor(n / NOUNS.length) % VERBS.length]!;
    const service = SERVICES[Math.floor(n / (NOUNS.length * VERBS.length)) % SERVICES.length]!;
    const field = (name: string, description: string) => ({ [name]: { type: 'string', description } });
    return {
      id: `${service}.${verb}_${noun}`,
      version: '1.0.0',
      contract: 'v1',
      title: `${verb} ${noun} (${service})`,
      description: `${verb} a ${noun} in ${service}. Needs access to the project that the ${noun} belongs to; use ${service}.list_${noun} to find its id. Number ${n}.`,
      tags: [service, noun],
      input: {
        type: 'object',
        properties: {
          ...field(`${noun}_id`, `Which ${noun} is meant`),
          ...field('project', 'The project or organisation that it belongs to'),
          ...field('note', `Shown beside the ${noun} in the history`),
        },
        required: ['project'],
        additionalProperties: false,
      },
      output: { type: 'object', properties: field('url', `Where the ${noun} can be seen`) },
      deterministic: false,
      idempotent: false,
      mutates: false,
      limits: { timeoutMs: 10_000, maxInputBytes: 65_536, maxOutputBytes: 65_536 },
    };
  });
}
