// Owns: a policy made ready to decide: globs and domains compiled, every rule with its name and line.
// Refuses: deciding, and loading the pattern engine; patterns are compiled when a command has to be decided.
import type { classifyHost } from '../base/ip-address.ts';
import type { DomainRule, LoadedPolicy, PolicyFile, RunsPolicy, Verdict } from '../contract/policy.ts';
import {
  type CommandPattern,
  compilePathGlob,
  type Domain,
  matchesTool,
  type PathMatcher,
  parseDomain,
} from '../contract/policy-match.ts';
import type { Grant } from './grant.ts';
import { type ProtectedPath, protectedPaths } from './protected-paths.ts';

export interface CompiledPolicy {
  /** The host's haft.yaml, then what narrows it. */
  readonly layers: readonly Layer[];
  readonly workspace: string | undefined;
  readonly extraRoots: readonly { readonly path: string; readonly rule: string }[];
  readonly protectedPaths: readonly ProtectedPath[];
  /** By their text; empty until they are loaded. */
  readonly patterns: Map<string, CommandPattern>;
  /** What needs a library, and is there once a connection has to be decided. */
  readonly library: { classifyHost?: ClassifyHost };
}

export type ClassifyHost = typeof classifyHost;

/** One file's rules. Where a list is undefined, the layer has nothing to say about it. */
export interface Layer {
  /** For a person: `haft.yaml`. */
  readonly name: string;
  readonly tools: { readonly byDefault: Verdict; readonly rules: readonly ToolEntry[] };
  readonly paths: readonly PathEntry[];
  readonly domains: readonly DomainEntry[] | undefined;
  readonly commands: readonly CommandEntry[] | undefined;
  readonly allowPush: boolean | undefined;
  readonly runs: RunsPolicy | undefined;
  /** The rule's name as decisions show it, and its line. */
  cite(rule: string): { readonly rule: string; readonly line?: number | undefined; readonly where: string };
  /** A session's rules cannot be lifted by haft.yaml. */
  grant(grant: Grant): Grant | undefined;
}

export interface ToolEntry {
  readonly rule: string;
  readonly tool: string;
  readonly verdict: Verdict;
  readonly globs: readonly string[] | undefined;
  readonly paths: readonly PathMatcher[] | undefined;
  matches(tool: string): boolean;
}

interface PathEntry {
  readonly rule: string;
  readonly glob: string;
  readonly path: PathMatcher;
  readonly read: Verdict | undefined;
  readonly write: Verdict | undefined;
  /** It binds tools, and takes programs out of what other rules of its layer say. */
  readonly freesPrograms: boolean;
}

interface DomainEntry {
  readonly rule: string;
  readonly text: string;
  readonly domain: Domain;
  readonly verdict: Verdict;
  readonly isPrivate: boolean;
}

interface CommandEntry {
  readonly rule: string;
  readonly pattern: string;
  readonly verdict: Verdict;
}

export function compilePolicy(loaded: LoadedPolicy, narrowing: readonly PolicyFile[]): CompiledPolicy {
  const written = loaded.file.paths?.extra_roots ?? [];
  const resolved = loaded.resolved?.extraRoots ?? written.filter((root) => root.startsWith('/'));
  return {
    layers: [
      compileLayer(loaded.file, hostLayer(loaded)),
      ...(loaded.outer ?? []).map(({ name, file }) => compileLayer(file, outerLayer(name))),
      ...narrowing.map((file) => compileLayer(file, SESSION)),
    ],
    workspace: loaded.resolved?.workspace,
    extraRoots: resolved.map((path, at) => ({ path, rule: `paths.extra_roots[${at}]` })),
    protectedPaths: protectedPaths(loaded),
    patterns: new Map(),
    library: {},
  };
}

type LayerOrigin = Pick<Layer, 'name' | 'cite' | 'grant'> & { readonly complete: boolean };

/** Of the host what is absent is not granted. */
const hostLayer = ({ name, lines }: LoadedPolicy): LayerOrigin => ({
  name,
  complete: true,
  cite(rule) {
    const line = lines[rule];
    return { rule, line, where: line === undefined ? rule : `${rule} (${name} line ${line})` };
  },
  grant: (grant) => grant,
});

/** Said whole; what it denies is for a person to change there. */
const outerLayer = (name: string): LayerOrigin => ({
  name,
  complete: true,
  cite: (rule) => ({ rule: `outer:${rule}`, where: `${rule} of ${name}` }),
  grant: () => undefined,
});

/** Of a session what is absent is not narrowed. */
const SESSION: LayerOrigin = {
  name: 'the session',
  complete: false,
  cite: (rule) => ({ rule: `session:${rule}`, where: `${rule} of the session` }),
  grant: () => undefined,
};

function compileLayer(file: PolicyFile, { complete, ...origin }: LayerOrigin): Layer {
  const { allowed_domains: domains } = file.network ?? {};
  return {
    ...origin,
    tools: {
      byDefault: file.tools?.default ?? 'allow',
      rules: (file.tools?.rules ?? []).map(({ tool, decision, paths }, at) => ({
        rule: `tools.rules[${at}]`,
        tool,
        verdict: decision,
        globs: paths,
        paths: paths?.map(compilePathGlob),
        matches: (id) => matchesTool(tool, id),
      })),
    },
    paths: (file.paths?.rules ?? []).map(({ path, read, write, programs }, at) => ({
      rule: `paths.rules[${at}]`,
      glob: path,
      path: compilePathGlob(path),
      read,
      write,
      freesPrograms: programs === 'allow',
    })),
    domains:
      complete || domains
        ? (domains ?? []).map((entry, at) => {
            const rule = `network.allowed_domains[${at}]`;
            const whole: DomainRule = typeof entry === 'string' ? { domain: entry } : entry;
            const { domain, decision = 'allow', private: isPrivate = false } = whole;
            return { rule, text: domain, domain: parseDomain(domain), verdict: decision, isPrivate };
          })
        : undefined,
    commands:
      complete || file.shell_allow
        ? (file.shell_allow ?? []).map((entry, at) => {
            const { pattern, decision = 'allow' } = typeof entry === 'string' ? { pattern: entry } : entry;
            return { rule: `shell_allow[${at}]`, pattern, verdict: decision };
          })
        : undefined,
    allowPush: complete ? (file.git?.allow_push ?? false) : file.git?.allow_push,
    runs: complete ? (file.runs ?? {}) : undefined,
  };
}
