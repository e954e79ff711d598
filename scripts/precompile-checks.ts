// Owns: the builtins' schema checks as code, so that calling one does not load the schema library.
// Refuses: checks for anything that is not a builtin.
import { Ajv2020 } from 'ajv/dist/2020.js';
import standaloneCode from 'ajv/dist/standalone/index.js';
import formats from 'ajv-formats';
import { AJV_OPTIONS } from '../src/loader/schema/compile.ts';
import { BUILTIN_TOOLS } from '../src/tools/index.ts';

/** For each builtin an ES module with its two checks, each beside the text of the schema that it was made from. */
export function precompileChecks(): ReadonlyMap<string, string> {
  return new Map(BUILTIN_TOOLS.map(({ id, input, output }) => [id, moduleOf({ input, output })]));
}

function moduleOf(schemas: Readonly<Record<string, unknown>>): string {
  const ajv = new Ajv2020({
    ...AJV_OPTIONS,
    messages: false,
    code: { source: true, esm: true, lines: false },
  });
  formats.default(ajv);
  const names: Record<string, string> = {};
  const lines: string[] = [];
  for (const [name, schema] of Object.entries(schemas)) {
    ajv.addSchema(schema as object, name);
    names[`${name}Fits`] = name;
    lines.push(
      `export const ${name} = { text: ${JSON.stringify(JSON.stringify(schema))}, fits: ${name}Fits };`,
    );
  }
  return `${standaloneCode.default(ajv, names)}\n${lines.join('\n')}\n`;
}
