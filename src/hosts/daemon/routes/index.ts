// Owns: the routes of the HTTP door: of those who call tools, of a person who answers for calls, and of one who says which tools there are.
// Refuses: operations of its own: each is the one that the command line has, and holds in this process when it is answered.
import { readPlacement } from '../../../contract/backend.ts';
import { fromToolRequest, toToolResponse } from '../../../contract/envelope.ts';
import { ERRORS, fail } from '../../../contract/errors.ts';
import type { JsonObject } from '../../../contract/json.ts';
import { listingToWire, toWire } from '../../../contract/spelling.ts';
import { findListing } from '../../../runtime/find-listing.ts';
import type { Asked, DaemonSite, Route } from '../route.ts';
import { OPERATION_ROUTES, operate, siteOf } from './operations.ts';

const USUAL_LIMIT = 10;
const MAP = { type: 'object' } as const;
const NAME = { type: 'string', pattern: '^[a-z][a-z0-9_]*$', maxLength: 64 } as const;

export const ROUTES: readonly Route[] = [
  {
    method: 'GET',
    path: '/healthz',
    token: 'none',
    about: '`{"ok":true,"version":"…"}` once the server takes requests',
    answer: (_, { version }) => ({ ok: true, version }),
  },
  {
    method: 'GET',
    path: '/v1/tools',
    token: 'calls',
    about:
      'every installed tool: contract, schemas, `enabled`, for a disabled one the lines that would admit it, or why none would, for a quarantined one why; and the `packs` they are of, each with its `status` and, where it is not there, why',
    async answer(_, { runtime }) {
      await runtime.installations.settle();
      return { tools: runtime.tools().map(listingToWire), packs: runtime.packs().map(toWire) };
    },
  },
  {
    method: 'GET',
    path: '/v1/tools/:id',
    token: 'calls',
    about: 'one of them',
    answer: async ({ params }, { runtime }) => listingToWire(await findListing(runtime, params.id!)),
  },
  {
    method: 'GET',
    path: '/v1/search',
    token: 'calls',
    about: 'tools by what they do, the best first: `id`, `title`, `origin`, `enabled`, `score`',
    query: {
      type: 'object',
      properties: {
        query: { type: 'string', minLength: 1, maxLength: 1000, description: 'words' },
        limit: {
          type: 'string',
          pattern: '^[1-9][0-9]{0,2}$',
          description: 'the most to answer; 10 by default',
        },
      },
      required: ['query'],
      additionalProperties: false,
    },
    answer: (asked, site) => {
      const { query, limit = USUAL_LIMIT } = asked.query;
      return operate('tools.search', { words: [query], limit: Number(limit) }, asked, site);
    },
  },
  {
    method: 'POST',
    path: '/v1/call',
    token: 'calls',
    about: 'takes a ToolRequest, answers a ToolResponse',
    query: {
      type: 'object',
      properties: {
        backend: {
          type: 'string',
          minLength: 1,
          maxLength: 100,
          description: 'where a run is executed, among what policy grants',
        },
        place: {
          type: 'string',
          minLength: 1,
          maxLength: 1000,
          description:
            'partition, account, qos or gres of its Slurm job as KEY=VALUE,…, among what policy lists',
        },
      },
      additionalProperties: false,
    },
    async answer({ body, query: { backend, place }, signal, status }, { runtime }) {
      const call = fromToolRequest(body);
      if (typeof call === 'string') throw fail('input.envelope', `Cannot make the call: ${call}`);
      const response = await runtime.call(call, {
        signal: signal(),
        ...(backend === undefined ? {} : { backend }),
        ...(place === undefined ? {} : { placement: readPlacement(place) }),
      });
      const [error] = response.errors;
      if (error) status(ERRORS[error.reason].http);
      return toToolResponse(response);
    },
  },
  {
    method: 'GET',
    path: '/v1/approvals',
    token: 'management',
    about: 'calls that wait for a person',
    answer: (asked, site) => operate('approvals.list', { status: 'pending' }, asked, site),
  },
  {
    method: 'GET',
    path: '/v1/approvals/:id',
    token: 'management',
    about: 'one of them: arguments without secrets, the diff of files, who answered',
    answer: (asked, site) => approval('approvals.show', asked, site),
  },
  {
    method: 'POST',
    path: '/v1/approvals/:id',
    token: 'management',
    about: 'the approval, answered',
    body: {
      type: 'object',
      properties: { decision: { enum: ['granted', 'refused'], description: 'what the person says' } },
      required: ['decision'],
      additionalProperties: false,
    },
    answer(asked, site) {
      const { decision } = asked.body as { readonly decision: 'granted' | 'refused' };
      return approval(decision === 'granted' ? 'approvals.grant' : 'approvals.refuse', asked, site);
    },
  },
  {
    method: 'GET',
    path: '/v1/installations',
    token: 'management',
    about:
      'every pack, by name: `kind`, whether it is `from` haft.yaml or was added, `enabled`, `config`, its `tools`, its `health` and, where it is not there, why',
    async answer(asked, site) {
      const packs = await siteOf(asked, site).packs.list();
      return { installations: packs.map((pack) => withTools(pack, site)) };
    },
  },
  {
    method: 'POST',
    path: '/v1/installations',
    token: 'management',
    about:
      'adds a server after it was reached: `added` and the ids of its `tools`, which can be called from then on, and `problems` of those that cannot',
    body: {
      type: 'object',
      properties: {
        name: { ...NAME, description: 'what the ids of its tools begin with' },
        mcp: { ...MAP, description: 'an MCP server, as `packs:` of haft.yaml has it' },
        stdio: { ...MAP, description: 'or a program of JSON lines' },
      },
      required: ['name'],
      oneOf: [{ required: ['mcp'] }, { required: ['stdio'] }],
      additionalProperties: false,
    },
    async answer(asked, site) {
      const { name, ...entry } = asked.body as JsonObject & { readonly name: string };
      return { added: name, ...(await siteOf(asked, site).packs.add(name, entry)) };
    },
  },
  {
    method: 'GET',
    path: '/v1/installations/:name',
    token: 'management',
    about: 'one of them',
    answer: async (asked, site) => withTools(await siteOf(asked, site).packs.show(asked.params.name!), site),
  },
  {
    method: 'POST',
    path: '/v1/installations/:name',
    token: 'management',
    about: 'enables or disables it: `enabled`, and whether that `changed` anything',
    body: {
      type: 'object',
      properties: { enabled: { type: 'boolean', description: 'whether its tools can be called' } },
      required: ['enabled'],
      additionalProperties: false,
    },
    answer(asked, site) {
      const { enabled } = asked.body as { readonly enabled: boolean };
      const { name: pack } = asked.params;
      return operate(enabled ? 'tools.enable' : 'tools.disable', { pack }, asked, site);
    },
  },
  {
    method: 'PUT',
    path: '/v1/installations/:name/config',
    token: 'management',
    about:
      'takes all that a server which was added needs, and reaches it by that: its `tools`, and those that are `quarantined` because they are not what was accepted',
    body: MAP,
    answer: (asked, site) =>
      operate('tools.config', { pack: asked.params.name, config: asked.body }, asked, site),
  },
  {
    method: 'DELETE',
    path: '/v1/installations/:name',
    token: 'management',
    about: 'removes one that was added',
    answer: (asked, site) => operate('tools.remove', { pack: asked.params.name }, asked, site),
  },
  {
    method: 'GET',
    path: '/v1/health',
    token: 'management',
    about: 'looks at every pack, and every tool that says how: `ok`, and of each its `name` and `status`',
    query: {
      type: 'object',
      properties: { name: { type: 'string', description: 'one pack or tool alone' } },
      additionalProperties: false,
    },
    answer: (asked, site) => operate('tools.health', { names: [asked.query.name ?? []].flat() }, asked, site),
  },
  {
    method: 'GET',
    path: '/v1/lock',
    token: 'management',
    about:
      'asks every server anew and compares: `drifts`, field by field, and the `digest` of haft.lock as it would be. Writes nothing',
    answer: (asked, site) => lock(asked, site, 'look'),
  },
  {
    method: 'POST',
    path: '/v1/lock',
    token: 'management',
    about: 'takes over all that differs, where it is still what was shown; 409 otherwise',
    body: {
      type: 'object',
      properties: {
        accept: { type: 'string', pattern: '^[0-9a-f]{64}$', description: 'the `digest` that was shown' },
      },
      required: ['accept'],
      additionalProperties: false,
    },
    answer(asked, site) {
      if (site.frozen)
        throw fail('lockfile.drift', 'Cannot accept anything while frozen: nothing may be written');
      return lock(asked, site, 'accept', (asked.body as { readonly accept: string }).accept);
    },
  },
  ...OPERATION_ROUTES,
];

async function approval(id: string, asked: Asked, site: DaemonSite): Promise<unknown> {
  const answer = await operate(id, { approval: asked.params.id }, asked, site);
  return (answer as { readonly approval: unknown }).approval;
}

async function lock(asked: Asked, site: DaemonSite, step: 'look' | 'accept', shown?: string) {
  const { lines: _, ...report } = await siteOf(asked, site).packs.lock(step, shown);
  return report;
}

/** As calls find it now: ids, and which of them are quarantined. */
function withTools<T extends { readonly name: string }>(pack: T, { runtime }: DaemonSite) {
  const open = runtime.installations.all().find(({ installation }) => installation.name === pack.name);
  const tools = open?.tools.map(({ contract }) => contract.id) ?? [];
  const quarantined = Object.keys(open?.quarantine ?? {});
  const state = runtime.packs().find(({ name }) => name === pack.name);
  const { status, message, checkedTs = null, problems } = state ?? {};
  return {
    ...pack,
    tools,
    ...(status
      ? { health: toWire({ status, ...(message === undefined ? {} : { message }), checkedTs }) }
      : {}),
    ...(problems ? { problems } : {}),
    ...(quarantined.length === 0 ? {} : { quarantined }),
  };
}
