// Owns: a pack that is a running server: its config held to what its adapter takes, its tools asked for once and kept.
// Refuses: to start a server only to list what is known of it already.
import { canonicalJson } from '../../base/canonical-json.ts';
import { digest } from '../../base/digest.ts';
import type { Credentials } from '../../contract/credentials.ts';
import { fail } from '../../contract/errors.ts';
import type { JsonObject, SchemaCompiler } from '../../contract/json.ts';
import type { BoundTool, Installation } from '../../contract/manifest.ts';
import type { TakenServer } from '../../loader/code/taken-server.ts';
import { readOwnCache, writeOwnCache } from '../../loader/own-cache.ts';
import {
  awaitServer,
  DISCOVERY_MS,
  type Discovery,
  followServer,
  type ServerAdapter,
} from './follow-server.ts';
import { areSameTools, type OpenEntry } from './open-packs.ts';
import type { PackEntry } from './pack-entries.ts';
import { refuseOwnVariables, serverSecrets, withoutServerSecrets } from './server-needs.ts';

export interface ServerSite {
  readonly adapter: ServerAdapter;
  readonly schemas: SchemaCompiler;
  /** Where known tools are kept, two levels below the state folder. */
  readonly cacheFolder: string;
  readonly onWarning: (message: string) => void;
  /** Asks also where the tools are known, and fails where the server is not there. */
  readonly fresh: boolean;
  /** The host stays: what is not there may come. */
  readonly living: boolean;
  readonly credentials: Credentials;
  /** Copies what a server of this config is made of, as it is now. */
  takeCode(config: JsonObject): Promise<TakenServer>;
  /** Told what an installation is started from. */
  started(installation: Installation, code: TakenServer): void;
}

const FORMAT = 1;

export function serverOpener(site: ServerSite): OpenEntry {
  return async (entry, { changed, barred, signal }) => {
    await checkConfig(entry, site);
    refuseOwnVariables(entry.name, entry.config);
    let code = await site.takeCode(entry.config);
    const made = code.digest === undefined ? {} : { code: code.digest };
    const installation: Installation = {
      name: entry.name,
      origin: entry.kind,
      digest: digest('toolpack/v1', canonicalJson({ kind: entry.kind, config: entry.config, ...made })),
      config: entry.config,
      enabled: true,
      health: { status: 'unverified', checkedTs: null },
    };
    site.started(installation, code);
    const pinned = (tools: readonly BoundTool[]) =>
      tools.map((tool) =>
        code.digest === undefined ? tool : { ...tool, pins: { ...tool.pins, code: code.digest } },
      );
    // The ids of its tools begin with its name: two packs of one config are two.
    const described = digest('toolpack/v1', canonicalJson({ kind: entry.kind, config: entry.config }));
    const key = `${entry.name}-${described}`;
    const kept = site.fresh ? undefined : readOwnCache<readonly BoundTool[]>(site.cacheFolder, key, FORMAT);
    const known = kept && pinned(kept);
    const keep = ({ tools: found, problems }: Discovery) => {
      const tools = pinned(found);
      for (const problem of problems) site.onWarning(problem);
      // Without what it is made of, which is looked at each time.
      if (found.length > 0) writeOwnCache(site.cacheFolder, key, FORMAT, found);
      return tools;
    };
    let last = known;
    const told = async (found: Discovery): Promise<void> => {
      const tools = pinned(found.tools);
      if (last && areSameTools(last, tools)) return;
      last = tools;
      await changed(installation.name, keep(found));
    };
    const isBarred = (id: string) => barred(installation.name, id);
    const look = () =>
      discover(installation, site.adapter, signal).catch(async (thrown) => {
        throw await withoutServerSecrets(thrown, entry.config, site.credentials);
      });
    /** Of a server that never was there: it may have been mended since. */
    const lookAnew = async () => {
      code = await site.takeCode(entry.config);
      site.started(installation, code);
      return look();
    };
    const asked = known ? undefined : await look().catch((thrown: Error) => thrown);
    if (asked instanceof Error) {
      if (site.fresh) throw asked;
      site.onWarning(`The tools of "${installation.name}" are not known: ${asked.message}`);
      if (site.living) awaitServer(lookAnew, { told, signal });
    }
    const tools = known ?? (asked === undefined || asked instanceof Error ? [] : keep(asked));
    last = tools;
    const doubtful = known !== undefined;
    const adapter = followServer(site.adapter, { told, barred: isBarred, signal, doubtful });
    const { files, unpinned } = code;
    return [
      {
        installation,
        adapter,
        tools,
        ...(code.digest === undefined ? {} : { files }),
        unpinned,
        ...(asked instanceof Error ? { absent: asked.message } : {}),
        ...serverSecrets(entry.config, site.credentials),
      },
    ];
  };
}

async function checkConfig(
  { kind, name, config }: PackEntry,
  { adapter, schemas }: ServerSite,
): Promise<void> {
  if (adapter.config === undefined) return;
  const check = await schemas.compile(adapter.config);
  const problems = await check(config);
  if (problems.length === 0) return;
  const list = problems.map(({ path, message }) => `${kind}${path} ${message}`).join('; ');
  throw fail('pack.invalid', `Cannot take the pack "${name}": ${list}`);
}

/** For its list alone: calls have a connection of their own. */
async function discover(
  installation: Installation,
  adapter: ServerAdapter,
  signal: AbortSignal,
): Promise<Discovery> {
  const connection = adapter.open(installation, []);
  try {
    return await connection.discover(AbortSignal.any([signal, AbortSignal.timeout(DISCOVERY_MS)]));
  } finally {
    await connection.close();
  }
}
