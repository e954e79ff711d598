// Owns: packs that are running servers: config held to what the adapter takes, tools asked for once and kept.
// Refuses: to start a server only to list what is known of it already.
import type {
  CreateServerAdapter,
  Discovery,
  ServerAdapter,
  ServerDeps,
} from '../../../adapters/server-adapter.ts';
import { canonicalJson } from '../../../base/canonical-json.ts';
import { digest } from '../../../base/digest.ts';
import { isRecord } from '../../../base/is-record.ts';
import { type Failure, fail } from '../../../contract/errors.ts';
import type { JsonObject, JsonSchema, SchemaCompiler } from '../../../contract/json.ts';
import type { BoundTool, Installation } from '../../../contract/manifest.ts';
import { OWN_VARIABLE } from '../../../contract/own-variable.ts';
import type { OpenPack } from '../../../contract/runtime.ts';
import { explainRefusal } from '../../../loader/code/explain-refusal.ts';
import { type ServerConfig, takeServer } from '../../../loader/code/server-code.ts';
import { readOwnCache, writeOwnCache } from '../../../loader/own-cache.ts';
import type { LastAbsence } from '../follow-server.ts';
import { createAbsentServer, discoverInTime, explained, followServer } from '../follow-server.ts';
import { serverNeeds, serverSecrets, withoutServerSecrets } from '../known-credentials.ts';
import type { PackEntry, PackFollow, PackParts, PackSaid, PackSource } from '../pack-source.ts';
import { areSameIds, areSameTools } from '../pack-source.ts';

/** Before 4, lists could hold secrets of their servers. */
const FORMAT = 4;

/** Entries under `key`, which hold the config that the adapter takes. */
export function serverSource(key: string, load: () => Promise<CreateServerAdapter>): PackSource {
  return {
    key,
    async open(parts) {
      const create = await load();
      return (entry, follow) => openServer(entry, follow, parts, create);
    },
    async check({ name, config }, { schemas, tell }) {
      for (const problem of await configProblems(config, await load(), schemas))
        tell(
          `.${key}${placeName(problem.slice(0, problem.indexOf(' ')))}`,
          'pack.invalid',
          `Cannot take the pack "${name}": ${key}${problem}`,
        );
      const own = ownVariable(name, config);
      if (own) tell(`.${key}.env.passthrough`, 'pack.invalid', own.message);
      return [];
    },
    needs: ({ name, config }) => serverNeeds(config).map((need) => ({ ...need, by: name })),
  };
}

async function openServer(
  entry: PackEntry,
  { changed, barred, signal }: PackFollow,
  parts: PackParts,
  create: CreateServerAdapter,
): Promise<readonly OpenPack[]> {
  const { root, schemas, credentials, onWarning, fresh, living, runtime, readInputs, logFor } = parts;
  const { name, kind, config } = entry;
  const problems = await configProblems(config, create, schemas);
  if (problems.length > 0)
    throw fail(
      'pack.invalid',
      `Cannot take the pack "${name}": ${problems.map((problem) => `${kind}${problem}`).join('; ')}`,
    );
  const own = ownVariable(name, config);
  if (own) throw own;
  const takeCode = () =>
    takeServer(config as unknown as ServerConfig, { root, code: parts.code, install: fresh });
  let code = await takeCode();
  const server = create({
    handlesFor: runtime.installations.handlesFor,
    startFor: () => code.start(),
    logFor,
    readInputs,
    secretsFor: () => credentials.resolve(serverNeeds(config), ''),
  });
  const made = code.digest === undefined ? {} : { code: code.digest };
  const installation: Installation = {
    name,
    origin: kind,
    digest: digest('toolpack/v1', canonicalJson({ kind, config, ...made })),
    config,
    enabled: true,
    health: { status: 'unverified', checkedTs: null },
  };
  const pinned = (tools: readonly BoundTool[]) =>
    tools.map((tool) =>
      code.digest === undefined ? tool : { ...tool, pins: { ...tool.pins, code: code.digest } },
    );
  // The ids of its tools begin with its name: two packs of one config are two.
  const described = digest('toolpack/v1', canonicalJson({ kind, config }));
  const key = `${name}-${described}`;
  const cacheFolder = `${root}/.haft/cache/packs`;
  const known = fresh ? undefined : readOwnCache<Kept>(cacheFolder, key, FORMAT);
  const keep = async ({ tools: found, problems, left = {} }: Discovery): Promise<Kept> => {
    const refused = await brokenSchemas(found, schemas);
    const kept: Kept = { found, refused, problems, left };
    for (const problem of problemsOf(kept)) onWarning(problem);
    // Without what it is made of, which is looked at each time.
    if (found.length > 0) writeOwnCache(cacheFolder, key, FORMAT, kept);
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
    await changed(name, said(kept));
    last = kept;
  };
  const explain = (text: string) => explainRefusal(text, { root, kind, config });
  const isBarred = (id: string) => barred(name, id);
  const look = () =>
    discover(installation, server, signal).catch(async (thrown) => {
      throw explained(await withoutServerSecrets(thrown, config, credentials), explain);
    });
  /** Of a server that never was there: it may have been mended since. */
  const lookAnew = async () => {
    code = await takeCode();
    return look();
  };
  const asked = fresh ? await keep(await look()) : known;
  if (asked) last = asked;
  const absence = `${key}-absent`;
  const { digest: identity } = installation;
  const absent = asked
    ? undefined
    : createAbsentServer({
        name,
        look: lookAnew,
        told,
        signal,
        living: living,
        last: recallAbsence(cacheFolder, absence, identity),
        keep: (one) => writeOwnCache<KeptAbsence>(cacheFolder, absence, FORMAT, { identity, last: one }),
        onWarning: onWarning,
      });
  const doubtful = known !== undefined;
  const adapter = followServer(server, { told, barred: isBarred, signal, doubtful, explain });
  const { files, unpinned } = code;
  return [
    {
      installation,
      adapter,
      ...(asked ? said(asked) : { tools: [] }),
      ...(code.digest === undefined ? {} : { files }),
      unpinned,
      ...(absent ? { absent } : {}),
      ...serverSecrets(config, credentials),
    },
  ];
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

/** Beside what its schema says. Each begins with a JSON pointer into the config. */
async function configProblems(
  config: JsonObject,
  create: CreateServerAdapter,
  schemas: SchemaCompiler,
): Promise<readonly string[]> {
  const { config: schema, problemOf } = create(NO_DEPS);
  if (schema === undefined) return [];
  const check = await schemas.compile(schema);
  const problems = (await check(config)).map(({ path, message }) => `${path} ${message}`);
  const further = problems.length === 0 ? problemOf?.(config) : undefined;
  return further === undefined ? problems : [further];
}

/** For whoever asks an adapter only what it takes. */
const NO_DEPS: ServerDeps = {
  handlesFor() {
    throw new Error('nothing is opened here');
  },
};

/** The key and the tokens of Haft are no server's, whatever its config says. */
function ownVariable(pack: string, { env }: JsonObject): Failure | undefined {
  const { passthrough } = (isRecord(env) ? env : {}) as { readonly passthrough?: unknown };
  const names: readonly unknown[] = Array.isArray(passthrough) ? passthrough : [];
  const at = names.findIndex((name) => OWN_VARIABLE.test(String(name)));
  if (at === -1) return undefined;
  const hint = 'name a secret that it needs under credentials';
  return fail(
    'pack.invalid',
    `Cannot take the pack "${pack}": env.passthrough[${at}] is ${names[at]}, a variable of Haft itself; ${hint}`,
  );
}

/** Of a JSON pointer: `/env/set` is `.env.set`, `/command/0` is `.command[0]`. */
const placeName = (pointer: string): string =>
  pointer.replaceAll(/\/([^/]*)/g, (_, key: string) => (/^\d+$/.test(key) ? `[${key}]` : `.${key}`));

/** A tool whose arguments or answers cannot be checked is not called: each by its id, and why. */
export async function brokenSchemas(
  tools: readonly BoundTool[],
  schemas: SchemaCompiler,
): Promise<Readonly<Record<string, string>>> {
  const broken: Record<string, string> = {};
  const turn = createTurnTaker();
  for (const { contract } of tools)
    for (const side of ['input', 'output'] as const)
      try {
        await turn();
        refuseLarge(contract[side]);
        await schemas.compile(contract[side]);
      } catch (thrown) {
        broken[contract.id] ??=
          `its ${side} schema does not compile: ${(thrown as Error).message.slice(0, 300)}`;
      }
  return broken;
}

/** Compiling takes time by size, and nothing else happens meanwhile. */
const MAX_SCHEMA_BYTES = 256 * 1024;

function refuseLarge(schema: JsonSchema): void {
  const bytes = Buffer.byteLength(JSON.stringify(schema));
  if (bytes > MAX_SCHEMA_BYTES)
    throw new Error(`it is ${bytes} bytes, over the limit of ${MAX_SCHEMA_BYTES}`);
}

const SLICE_MS = 8;

/** Lets others have their turn, every few milliseconds. */
function createTurnTaker(): () => Promise<void> | undefined {
  let since = performance.now();
  return () => {
    if (performance.now() - since < SLICE_MS) return undefined;
    return new Promise<void>((resolve) => {
      setImmediate(() => {
        since = performance.now();
        resolve();
      });
    });
  };
}
