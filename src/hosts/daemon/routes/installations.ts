// Owns: the routes of a person who says which tools there are: packs, their health, and what was accepted of them.
// Refuses: operations of its own: each is the one that the command line has, and holds in this process when it is answered.
import { fail } from '../../../contract/errors.ts';
import type { JsonObject } from '../../../contract/json.ts';
import { toWire } from '../../../contract/spelling.ts';
import type { Asked, DaemonSite, Route } from '../route.ts';
import { operate, siteOf } from './operations.ts';

const MAP = { type: 'object' } as const;
const NAME = { type: 'string', pattern: '^[a-z][a-z0-9_]*$', maxLength: 64 } as const;

export const INSTALLATION_ROUTES: readonly Route[] = [
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
];

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
