// Owns: for tests, the text of tool files: short to write, complete for the loader.
// Refuses: to hide anything that a test is about.

const USUAL = {
  version: '1.0.0',
  deterministic: false,
  timeoutMs: 20_000,
  limits: { maxInputBytes: 1_000_000, maxOutputBytes: 1_000_000 },
  inputSchema: { type: 'object' },
  outputSchema: {},
};

/** JSON is YAML. */
export const toolFile = (id: string, execution: object, rest: object = {}): string =>
  JSON.stringify({ id, ...USUAL, execution, ...rest });

/** A pack's files: each tool in a file of its own, beside the scripts. */
export const packFiles = (
  tools: readonly (readonly [id: string, execution: object, rest?: object])[],
  scripts: Readonly<Record<string, string>> = {},
): Record<string, string> => ({
  ...Object.fromEntries(
    tools.map(([id, execution, rest]) => [`packs/p/${id}.tool.yaml`, toolFile(id, execution, rest)]),
  ),
  ...Object.fromEntries(Object.entries(scripts).map(([name, text]) => [`packs/p/${name}`, text])),
});
