// Owns: the builtins' schema checks as code, so that calling one does not load the schema library.
// Refuses: checks for anything that is not a builtin.
import { Ajv2020 } from 'ajv/dist/2020.js';
import standaloneCode from 'ajv/dist/standalone/index.js';
import formats from 'ajv-formats';
import { AJV_OPTIONS } from '../src/loader/schema/compile.ts';
import { BUILTIN_TOOLS } from '../src/tools/index.ts';

/** An ES module whose `PRECOMPILED_CHECKS` maps schemas, as text, to validators. */
export async function precompileChecks(): Promise<string> {
  const ajv = new Ajv2020({
    ...AJV_OPTIONS,
    messages: false,
    code: { source: true, esm: true, lines: false },
  });
  formats.default(ajv);
  const texts = new Set(
    BUILTIN_TOOLS.flatMap(({ input, output }) => [JSON.stringify(input), JSON.stringify(output)]),
  );
  const names: Record<string, string> = {};
  const table: string[] = [];
  for (const [n, text] of [...texts].entries()) {
    const name = `check${n}`;
    ajv.addSchema(JSON.parse(text), name);
    names[name] = name;
    table.push(`${JSON.stringify(text)}: ${name}`);
  }
  const code = standaloneCode.default(ajv, names);
  return `${code}\nexport const PRECOMPILED_CHECKS = {${table.join(',')}};\n`;
}
