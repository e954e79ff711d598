// Owns: which tools of a server have schemas that cannot be checked, looked at in slices: every other call goes on meanwhile.
// Refuses: schemas so large that one alone would hold up all others.
import type { JsonSchema, SchemaCompiler } from '../../contract/json.ts';
import type { BoundTool } from '../../contract/manifest.ts';

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
