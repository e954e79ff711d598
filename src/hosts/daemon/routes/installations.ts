// Owns: the routes of a person who says which tools there are: packs, their health, and what was accepted of them.
// Refuses: operations of its own: each is the one that the command line has, and holds in this process when it is answered.
import { fail } from '../../../contract/errors.ts';
import type { JsonObject } from '../../../contract/json.ts';
import { toWire } from '../../../contract/spelling.ts';
import { lockWorkspace } from '../../../preset/packs/lock-workspace.ts';
import { lookAtPacks } from '../../../preset/packs/look-at-packs.ts';
import { type WorkspacePacks, withWorkspacePacks } from '../../../preset/packs/workspace-packs.ts';
import type { DaemonSite, Route } from '../route.ts';

const MAP = { type: 'object' } as const;
const NAME = { type: 'string', pattern: '^[a-z][a-z0-9_]*$', maxLength: 64 } as const;

export const INSTALLATION_ROUTES: readonly Route[] = [
  {
    method: 'GET',
    path: '/v1/installations',
    token: 'management',
    about:
      'every pack, by name: `kind`, whether it is `from` haft.yaml or was added, `enabled`, `config`, its `tools`, its `health` and, where it is not there, why',
    async answer(_, site) {
      const packs = await look(site, (all) => all.list());
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
    async answer({ body }, site) {
      const { name, ...entry } = body as JsonObject & { readonly name: string };
      return { added: name, ...(await change(site, (all) => all.add(name, entry))) };
    },
  },
  {
    method: 'GET',
    path: '/v1/installations/:name',
    token: 'management',
    about: 'one of them',
    answer: async ({ params }, site) => withTools(await look(site, (all) => all.show(params.name!)), site),
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
    async answer({ params, body }, site) {
      const { enabled } = body as { readonly enabled: boolean };
      const changed = await change(site, (all) => all.enable(params.name!, enabled));
      return { pack: params.name, enabled, changed };
    },
  },
  {
    method: 'PUT',
    path: '/v1/installations/:name/config',
    token: 'management',
    about:
      'takes all that a server which was added needs, and reaches it by that: its `tools`, and those that are `quarantined` because they are not what was accepted',
    body: MAP,
    async answer({ params, body }, site) {
      const name = params.name!;
      return { configured: name, ...(await change(site, (all) => all.configure(name, body as JsonObject))) };
    },
  },
  {
    method: 'DELETE',
    path: '/v1/installations/:name',
    token: 'management',
    about: 'removes one that was added',
    async answer({ params }, site) {
      await change(site, (all) => all.remove(params.name!));
      return { removed: params.name };
    },
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
    async answer({ query, signal }, { runtime }) {
      const found = await lookAtPacks(runtime, query.name === undefined ? [] : [query.name], signal());
      return {
        ok: found.every(([, { status }]) => status !== 'unhealthy'),
        health: found.map(([name, report]) => ({ name, ...toWire(report) })),
      };
    },
  },
  {
    method: 'GET',
    path: '/v1/lock',
    token: 'management',
    about:
      'asks every server anew and compares: `drifts`, field by field, and the `digest` of haft.lock as it would be. Writes nothing',
    answer: (_, { runtime }) => lockWorkspace(runtime.workspace, 'look', { live: runtime.spokenPacks() }),
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
    async answer({ body }, { runtime, frozen }) {
      if (frozen) throw fail('lockfile.drift', 'Cannot accept anything while frozen: nothing may be written');
      const { accept } = body as { readonly accept: string };
      const live = runtime.spokenPacks();
      const report = await lockWorkspace(runtime.workspace, 'accept', { shown: accept, live, by: 'http' });
      await takeOver(runtime);
      return report;
    },
  },
];

const look = <T>({ runtime }: DaemonSite, use: (packs: WorkspacePacks) => Promise<T>): Promise<T> =>
  withWorkspacePacks(runtime.workspace, use);

/** When it is answered, it holds here; other processes of the workspace hear of it. */
async function change<T>(
  { runtime, frozen, living: { inTurn } }: DaemonSite,
  use: (packs: WorkspacePacks) => Promise<T>,
): Promise<T> {
  return inTurn(async () => {
    const answer = await withWorkspacePacks(runtime.workspace, use, { frozen, by: 'http' });
    await takeOver(runtime);
    return answer;
  });
}

/** What was asked for is done by now. Where another pack has a problem, the log of the host says so. */
const takeOver = (runtime: DaemonSite['runtime']): Promise<void> => runtime.reloadPacks().catch(() => {});

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
