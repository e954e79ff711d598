// Owns: a pack that is a running server: its config held to what its adapter takes, its tools asked for once and kept.
// Refuses: to start a server only to list what is known of it already.
import { canonicalJson } from '../../base/canonical-json.ts';
import { digest } from '../../base/digest.ts';
import type { Credentials } from '../../contract/credentials.ts';
import { fail } from '../../contract/errors.ts';
import type { JsonObject, SchemaCompiler } from '../../contract/json.ts';
import type { BoundTool, Installation } from '../../contract/manifest.ts';
import { explainRefusal } from '../../loader/code/explain-refusal.ts';
import type { TakenServer } from '../../loader/code/taken-server.ts';
import { readOwnCache, writeOwnCache } from '../../loader/own-cache.ts';
import { createAbsentServer, type LastAbsence } from './absent-server.ts';
import { brokenSchemas } from './broken-schemas.ts';
import {
  type Discovery,
  discoverInTime,
  explained,
  followServer,
  type ServerAdapter,
} from './follow-server.ts';
import { areSameIds, areSameTools, type OpenEntry, type PackSaid } from './open-packs.ts';
import type { PackEntry } from './pack-entries.ts';
import { configProblems, refuseOwnVariables, serverSecrets, withoutServerSecrets } from './server-needs.ts';

export interface ServerSite {
  /** The workspace. */
  readonly root: string;
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

const FORMAT = 3;

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
    const known = site.fresh ? undefined : readOwnCache<Kept>(site.cacheFolder, key, FORMAT);
    const keep = async ({ tools: found, problems, left = {} }: Discovery): Promise<Kept> => {
      const refused = await brokenSchemas(found, site.schemas);
      const kept: Kept = { found, refused, problems, left };
      for (const problem of problemsOf(kept)) site.onWarning(problem);
      // Without what it is made of, which is looked at each time.
      if (found.length > 0) writeOwnCache(site.cacheFolder, key, FORMAT, kept);
      return kept;
    };
    const said = (kept: Kept): PackSaid => {
      const { found, refused, left } = kept;
      const problems = problemsOf(kept);
      const unusable = { ...left, ...refused };
      return {
        tools: pinned(found.filter(({ contract }) => !Object.hasOwn(refused, contract.id))),
        ...(Object.keys(unusable).length > 0 ? { refused: unusable } : {}),
        ...(problems.length > 0 ? { problems } : {}),
      };
    };
    let last: Pick<Kept, 'found' | 'left'> | undefined = known;
    const told = async (discovery: Discovery): Promise<void> => {
      if (last && areSameTools(last.found, discovery.tools) && areSameIds(last.left, discovery.left)) return;
      const kept = await keep(discovery);
      await changed(installation.name, said(kept));
      last = kept;
    };
    const explain = (text: string) =>
      explainRefusal(text, { root: site.root, kind: entry.kind, config: entry.config });
    const isBarred = (id: string) => barred(installation.name, id);
    const look = () =>
      discover(installation, site.adapter, signal).catch(async (thrown) => {
        throw explained(await withoutServerSecrets(thrown, entry.config, site.credentials), explain);
      });
    /** Of a server that never was there: it may have been mended since. */
    const lookAnew = async () => {
      code = await site.takeCode(entry.config);
      site.started(installation, code);
      return look();
    };
    const asked = site.fresh ? await keep(await look()) : known;
    if (asked) last = asked;
    const absence = `${key}-absent`;
    const { digest: identity } = installation;
    const absent = asked
      ? undefined
      : createAbsentServer({
          name: installation.name,
          look: lookAnew,
          told,
          signal,
          living: site.living,
          last: recallAbsence(site.cacheFolder, absence, identity),
          keep: (one) =>
            writeOwnCache<KeptAbsence>(site.cacheFolder, absence, FORMAT, { identity, last: one }),
          onWarning: site.onWarning,
        });
    const doubtful = known !== undefined;
    const adapter = followServer(site.adapter, { told, barred: isBarred, signal, doubtful, explain });
    const { files, unpinned } = code;
    return [
      {
        installation,
        adapter,
        ...(asked ? said(asked) : { tools: [] }),
        ...(code.digest === undefined ? {} : { files }),
        unpinned,
        ...(absent ? { absent } : {}),
        ...serverSecrets(entry.config, site.credentials),
      },
    ];
  };
}

/** What a server said, whole, with what of it cannot be used. */
interface Kept {
  readonly found: readonly BoundTool[];
  readonly refused: { readonly [id: string]: string };
  readonly problems: readonly string[];
  /** What was left out of it, told in `problems` already: by id, for whoever calls it. */
  readonly left: { readonly [id: string]: string };
}

interface KeptAbsence {
  /** Of the installation that it was about: with other code or config it may be there. */
  readonly identity: string;
  readonly last: LastAbsence | undefined;
}

function recallAbsence(folder: string, name: string, identity: string): LastAbsence | undefined {
  const kept = readOwnCache<KeptAbsence>(folder, name, FORMAT);
  return kept?.identity === identity ? kept.last : undefined;
}

const problemsOf = ({ refused, problems }: Kept): readonly string[] => [
  ...problems,
  ...Object.entries(refused).map(([id, why]) => `"${id}" cannot be used: ${why}`),
];

async function checkConfig(
  { kind, name, config }: PackEntry,
  { adapter, schemas }: ServerSite,
): Promise<void> {
  const problems = await configProblems(config, adapter, schemas);
  if (problems.length === 0) return;
  const list = problems.map((problem) => `${kind}${problem}`).join('; ');
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
    return await discoverInTime(connection, installation, signal);
  } finally {
    await connection.close();
  }
}
