// Owns: a pack that is a running server: its config held to what its adapter takes, its tools asked for once and kept.
// Refuses: to start a server only to list what is known of it already.
import { canonicalJson } from '../../base/canonical-json.ts';
import { digest } from '../../base/digest.ts';
import type { Adapter, AdapterConnection } from '../../contract/adapter.ts';
import type { Credentials } from '../../contract/credentials.ts';
import { fail } from '../../contract/errors.ts';
import type { SchemaCompiler } from '../../contract/json.ts';
import type { BoundTool, Installation } from '../../contract/manifest.ts';
import { readOwnCache, writeOwnCache } from '../../loader/own-cache.ts';
import type { OpenEntry } from './open-packs.ts';
import type { PackEntry } from './pack-entries.ts';
import { serverSecrets } from './server-needs.ts';

/** An adapter whose other side says which tools it has. */
export interface ServerAdapter extends Adapter {
  open(installation: Installation, tools: readonly BoundTool[]): AdapterConnection & Discovering;
}

interface Discovering {
  discover(
    signal: AbortSignal,
  ): Promise<{ readonly tools: readonly BoundTool[]; readonly problems: readonly string[] }>;
}

export interface ServerSite {
  readonly adapter: ServerAdapter;
  readonly schemas: SchemaCompiler;
  /** Where known tools are kept, two levels below the state folder. */
  readonly cacheFolder: string;
  readonly onWarning: (message: string) => void;
  /** Asks also where the tools are known, and fails where the server is not there. */
  readonly fresh: boolean;
  readonly credentials: Credentials;
}

/** A server that does not say within this time what it has is not there. */
const DISCOVERY_MS = 20_000;
const FORMAT = 1;

export function serverOpener(site: ServerSite): OpenEntry {
  return async (entry) => {
    await checkConfig(entry, site);
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
    const tools = known ?? (await discover(installation, site));
    if (!known && tools.length > 0) writeOwnCache(site.cacheFolder, key, FORMAT, tools);
    const secrets = serverSecrets(entry.config, site.credentials);
    return [{ installation, adapter: site.adapter, tools, ...secrets }];
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

/** Once, for its list alone: calls have a connection of their own. */
async function discover(
  installation: Installation,
  { adapter, onWarning, fresh }: ServerSite,
): Promise<readonly BoundTool[]> {
  const connection = adapter.open(installation, []);
  try {
    const { tools, problems } = await connection.discover(AbortSignal.timeout(DISCOVERY_MS));
    for (const problem of problems) onWarning(problem);
    return tools;
  } catch (thrown) {
    if (fresh) throw thrown;
    onWarning(`The tools of "${installation.name}" are not known: ${(thrown as Error).message}`);
    return [];
  } finally {
    await connection.close();
  }
}
