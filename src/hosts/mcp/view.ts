// Owns: what a client of `haft mcp` chose to see: which tools are listed, and whether answers come as data, too.
// Refuses: rights: what is not listed can be found and called all the same; policy decides.

/** By name, with what its list holds. */
export const PROFILES = {
  default: 'the everyday tools, those of packs, and find_tool, describe_tool and call_tool for the others',
  all: 'every tool that can be used',
  searchable: 'find_tool, describe_tool and call_tool alone',
} as const;

export type Profile = keyof typeof PROFILES;

export interface McpView {
  readonly profile: Profile;
  /** Tools are listed with the schemas of their answers, and answers carry `structuredContent`. */
  readonly outputSchemas: boolean;
}

export const DEFAULT_VIEW: McpView = { profile: 'default', outputSchemas: false };

/** The tools that stand for all that are not listed. */
export const FINDERS: readonly string[] = ['find_tool', 'describe_tool', 'call_tool'];

export const hasFinders = ({ profile }: McpView): boolean => profile !== 'all';
