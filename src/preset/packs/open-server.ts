// Owns: a pack that is a running server: its config held to what its adapter takes, its tools asked for once and kept.
// Refuses: to start a server only to list what is known of it already.
import { canonicalJson } from '../../base/canonical-json.ts';
import { digest } from '../../base/digest.ts';
import type { Credentials } from '../../contract/credentials.ts';
import { fail } from '../../contract/errors.ts';
import type { SchemaCompiler } from '../../contract/json.ts';
import type { BoundTool, Installation } from '../../contract/manifest.ts';
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
import { refuseOwnVariables, serverSecrets } from './server-needs.ts';

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
}

const FORMAT = 1;

export function serverOpener(site: ServerSite): OpenEntry {
  return async (entry, { changed, barred, signal }) => {
    await checkConfig(entry, site);
    refuseOwnVariables(entry.name, entry.config);
    const installation: Installation = {
      name: entry.name,
      origin: entry.kind,
      digest: digest('toolpack/v1', canonicalJson({ kind: entry.kind, config: entry.config })),
      config: entry.config,
      enabled: true,
      health: { status: 'unverified', checkedTs: null },
    };
    // The ids of its tools begin with its name: two packs of one config are two.
    const key = `${entry.name}-${installation.digest.replace(':', '-')}`;
    const known = site.fresh ? undefined : readOwnCache<readonly BoundTool[]>(site.cacheFolder, key, FORMAT);
    const keep = ({ tools, problems }: Discovery) => {
      for (const problem of problems) site.onWarning(problem);
      if (tools.length > 0) writeOwnCache(site.cacheFolder, key, FORMAT, tools);
      return tools;
    };
    let last = known;
    const told = async (found: Discovery): Promise<void> => {
      if (last && areSameTools(last, found.tools)) return;
      last = found.tools;
      await changed(installation.name, keep(found));
    };
    const isBarred = (id: string) => barred(installation.name, id);
    const look = () => discover(installation, site.adapter, signal);
    const asked = known ? undefined : await look().catch((thrown: Error) => thrown);
    if (asked instanceof Error) {
      if (site.fresh) throw asked;
      site.onWarning(`The tools of "${installation.name}" are not known: ${asked.message}`);
      if (site.living) awaitServer(look, { told, signal });
    }
    const tools = known ?? (asked === undefined || asked instanceof Error ? [] : keep(asked));
    last = tools;
    const doubtful = known !== undefined;
    const adapter = followServer(site.adapter, { told, barred: isBarred, signal, doubtful });
    return [{ installation, adapter, tools, ...serverSecrets(entry.config, site.credentials) }];
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
