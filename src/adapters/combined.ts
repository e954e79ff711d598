// Owns: packs whose tools are reached in several ways: each call goes the way that its tool's binding names.
// Refuses: a binding to a way that it does not have, and to open a way before one of its tools is called.
import type { Adapter, AdapterConnection } from '../contract/adapter.ts';
import { fail } from '../contract/errors.ts';
import type { BoundTool, HealthReport } from '../contract/manifest.ts';

/** `combineAdapters('yaml', [createProcessAdapter(…), createHttpAdapter(…)])` is the adapter of a folder of YAML tools. */
export function combineAdapters(name: string, adapters: readonly Adapter[]): Adapter {
  const byName = new Map(adapters.map((adapter) => [adapter.name, adapter]));
  const adapterOf = ({ contract, binding }: BoundTool): Adapter => {
    const adapter = byName.get(binding.adapter);
    if (!adapter)
      throw fail('pack.invalid', `Cannot reach "${contract.id}": there is no adapter "${binding.adapter}"`);
    return adapter;
  };
  return {
    name,
    needs: (query) => adapterOf(query.tool).needs?.(query) ?? [],
    effects: (query) => adapterOf(query.tool).effects?.(query) ?? [],
    runIdentity: async (query) => (await adapterOf(query.tool).runIdentity?.(query)) ?? { code: '' },
    open(installation, tools) {
      const groups = Map.groupBy(tools, adapterOf);
      const ways = new Map(tools.map((tool) => [tool.contract.id, adapterOf(tool)]));
      const opened = new Map<Adapter, Promise<AdapterConnection>>();
      const open = (adapter: Adapter): Promise<AdapterConnection> => {
        const known =
          opened.get(adapter) ?? Promise.resolve(adapter.open(installation, groups.get(adapter) ?? []));
        opened.set(adapter, known);
        return known;
      };
      let closed = false;
      return {
        async invoke(invocation) {
          const adapter = ways.get(invocation.tool);
          if (!adapter)
            throw fail(
              'tool.unknown',
              `Cannot call "${invocation.tool}": "${installation.name}" has no such tool`,
            );
          if (closed)
            throw fail('call.outcome_unknown', `Cannot reach "${installation.name}": its adapter was closed`);
          return (await open(adapter)).invoke(invocation);
        },
        async health(signal) {
          if (closed) return { status: 'unhealthy', checkedTs: null, message: 'closed' };
          const reports = await Promise.all(
            [...groups.keys()].map(async (adapter) => (await open(adapter)).health(signal)),
          );
          return worst(reports);
        },
        async close() {
          closed = true;
          await Promise.all([...opened.values()].map(async (connection) => (await connection).close()));
        },
      };
    },
  };
}

const ORDER = ['ready', 'unverified', 'disabled', 'degraded', 'unhealthy'] as const;

/** Some ways that work make the whole degraded and not unhealthy. */
function worst(reports: readonly HealthReport[]): HealthReport {
  const sorted = reports.toSorted((a, b) => ORDER.indexOf(b.status) - ORDER.indexOf(a.status));
  const [first = { status: 'ready', checkedTs: null }] = sorted;
  const mixed = first.status === 'unhealthy' && sorted.some(({ status }) => status === 'ready');
  return mixed ? { ...first, status: 'degraded' } : first;
}
