// Owns: the builtins' schema checks as code, so that calling one does not load the schema library.
// Refuses: checks for anything that is not a builtin.
import { Ajv2020 } from 'ajv/dist/2020.js';
import standaloneCode from 'ajv/dist/standalone/index.js';
import formats from 'ajv-formats';
import type { JsonSchema } from '../src/contract/json.ts';
import { AJV_OPTIONS } from '../src/loader/schema/compile.ts';
import { schemaDigest } from '../src/loader/schema/schema-compiler.ts';
import { BUILTIN_TOOLS } from '../src/tools/index.ts';

/** An ES module whose `PRECOMPILED_CHECKS` maps schema digests to validators. */
export async function precompileChecks(): Promise<string> {
  const ajv = new Ajv2020({ ...AJV_OPTIONS, code: { source: true, esm: true, lines: false } });
  formats.default(ajv);
  const names: Record<string, string> = {};
  for (const tool of BUILTIN_TOOLS) {
    for (const schema of [tool.input, tool.output] as JsonSchema[]) {
      const digest = schemaDigest(schema);
      const name = `check_${digest}`;
      if (names[name]) continue;
      names[name] = name;
      ajv.addSchema(schema as object, name);
    }
  }
  const code = standaloneCode.default(ajv, names);
  const table = Object.keys(names).map((name) => `${JSON.stringify(name.slice('check_'.length))}: ${name}`);
  return `${code}\nexport const PRECOMPILED_CHECKS = {${table.join(',')}};\n`;
}
