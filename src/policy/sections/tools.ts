// Owns: `tools`: which tools may be called at all, and on which paths; and effects that nothing else speaks about.
// Not here: what a call may do to a path (paths.ts).
import type { Effect } from '../../contract/effect.ts';
import type { Fence, PolicyFile, ToolRule, Verdict } from '../../contract/policy.ts';
import { UNTRUSTED_POLICY } from '../../contract/policy.ts';
import {
  blocksTree,
  compilePathGlob,
  isStricter,
  locatePath,
  matchesTool,
  strictestOf,
} from '../../contract/policy-match.ts';
import type { CallRules, CompiledPolicy, Finding, Layer, Section } from '../section.ts';
import { checkedPathGlob, checkShadowed, examples, list, map, rulesOf, text, verdict } from '../shapes.ts';
import { asSet, granted, isPathEffect, lists, shown, value } from '../values.ts';

export const tools = {
  key: 'tools',
  written: () => ({
    shape: map('Which tools may be called at all.', {
      default: verdict('What happens to tools that no rule names.', 'allow'),
      rules: list(
        map(
          'What happens to calls of some tools.',
          {
            tool: text('tool-glob', 'A tool id; `*` stands for any characters.'),
            decision: verdict('What happens to calls of it.'),
            paths: list(
              text('path-glob', 'A glob over workspace-relative paths.'),
              'With it, only calls that touch one of these match.',
            ),
            examples: examples('A tool id; where the rule has `paths`, a tool id, a space and a path.'),
          },
          { required: ['tool', 'decision'] },
        ),
        'Of the rules that match a call the strictest wins.',
      ),
    }),
    check(draft, site) {
      const candidates = rulesOf(draft.tools?.rules, 'tools.rules', 'tool').map(({ rule, path }) => ({
        path,
        subject: rule.paths ? undefined : rule.tool,
        verdict: rule.decision,
        matches: (id: string) => !rule.paths && rule.tool !== undefined && matchesTool(rule.tool, id),
      }));
      checkShadowed(candidates, 'decision', site);
    },
    examples: (draft) => ({
      rules: rulesOf(draft.tools?.rules, 'tools.rules', 'tool').map(({ rule, path }) => {
        const globs = rule.paths?.map((glob) => checkedPathGlob(glob)?.matches);
        return {
          path,
          examples: rule.examples,
          hasPaths: globs !== undefined,
          matches: ({ text: id, file }) =>
            matchesTool(rule.tool ?? '', id) &&
            (!globs || (file !== undefined && globs.some((glob) => glob?.(file)))),
          says: () => rule.decision,
        };
      }),
      byDefault: draft.tools?.default ?? 'allow',
      wanted: 'a tool id, and after a space a path where the rule has paths',
      read(example, { hasPaths }) {
        const [, id = '', file] = /^([a-z][a-z0-9_.]*)(?: (\S.*))?$/.exec(example) ?? [];
        if (!id || (hasPaths && file === undefined)) return undefined;
        return { calls: [[file === undefined ? { text: id } : { text: id, file }]] };
      },
    }),
    /** A rule that allows makes an exception from the session's own stricter default; any other use would widen. */
    widening(host, session) {
      const own = session.default ?? 'allow';
      const keys =
        session.default && isStricter(host?.default ?? 'allow', session.default) ? ['.default'] : [];
      for (const [at, { tool, decision }] of (session.rules ?? []).entries()) {
        if (decision === 'allow' && (own === 'allow' || isStricter(strictestFor(host, tool), 'allow')))
          keys.push(`.rules[${at}]`);
      }
      return keys;
    },
    changes(old = {}, now = {}) {
      const [from, to] = [old.default ?? 'allow', now.default ?? 'allow'];
      const rules = [(old.rules ?? []).map(plainRule), (now.rules ?? []).map(plainRule)] as const;
      return [
        ...value('tools.default', from, to, () => isStricter(from, to)),
        ...lists('tools.rules', ...rules, {
          // A rule that matches takes the place of the default, also where it is laxer than that.
          added: (rule) => isStricter(from, rule.decision) && !rules[0].some((one) => coversRule(one, rule)),
          // A rule with paths speaks about calls without a path, too, unless it denies: only the very same one is as strict.
          removed: (gone) =>
            gone.decision !== 'allow' &&
            !rules[1].some(
              ({ tool, decision, paths }) =>
                !paths && tool === gone.tool && !gone.paths && !isStricter(gone.decision, decision),
            ),
        }),
      ];
    },
    reach: 5,
    grants: ({ rules = [] }) =>
      rules.flatMap(({ tool, decision, paths }) => {
        if (decision !== 'allow') return [];
        return [`the tool ${shown(tool)}${paths ? ` on ${paths.map((one) => shown(one)).join(', ')}` : ''}`];
      }),
    below: (own, _inner, seen) => ({
      default: own?.default ?? 'allow',
      rules: (own?.rules ?? []).map(({ tool, decision, paths }) => {
        if (!paths) return { tool, decision };
        const shifted = paths.flatMap(seen);
        // A rule about other places stays, as one that matches no path: it also speaks about calls that touch none.
        return { tool, decision, paths: shifted.length > 0 ? shifted : ['.haft/elsewhere'] };
      }),
    }),
  }),
  meaning: (own) => ({
    default: own?.default ?? 'allow',
    rules: asSet(
      (own?.rules ?? []).map(({ tool, decision, paths }) => [tool, decision, paths ? asSet(paths) : null]),
    ),
  }),
  project({ tools: own }, tool) {
    const rules = (own?.rules ?? []).filter((rule) => matchesTool(rule.tool, tool));
    const denying = rules.filter(({ decision }) => decision === 'deny');
    const granting = rules.filter(({ decision }) => decision !== 'deny');
    const needsGrant = own?.default === 'deny' && granting.every(({ paths }) => paths);
    return {
      denied: denying.some(({ paths }) => !paths) || (needsGrant && granting.length === 0),
      denied_paths: asSet(denying.flatMap(({ paths }) => paths ?? [])),
      granted_paths: needsGrant ? asSet(granting.flatMap(({ paths }) => paths ?? [])) : null,
    };
  },
  effects: {
    'proc.list': granted('the process table may be looked at'),
    'artifact.read': granted("the workspace's artifacts are granted"),
    'artifact.import': granted("the workspace's artifacts are granted"),
  },
  calls: toolRules,
  sees(tool, { layers }) {
    const hiding = layers.flatMap((layer) =>
      rulesFor(layer, tool)
        .filter((rule) => rule.verdict !== 'allow')
        .flatMap(({ paths = [] }) => paths),
    );
    return hiding.length === 0 ? undefined : (path) => !hiding.some((matcher) => matcher.matches(path));
  },
} satisfies Section<'tools'>;

/** The rules that can match this tool. */
export function toolRules(tool: string, { layers, workspace }: CompiledPolicy): CallRules {
  const parts = layers.map((layer) => ({ layer, rules: rulesFor(layer, tool) }));
  const fixed = parts.every(({ rules }) => rules.every((rule) => !rule.paths));
  return {
    fixed,
    findings(effect: Effect | undefined) {
      const onPath = effect && isPathEffect(effect);
      if (effect && (fixed || !onPath)) return undefined;
      const path = onPath ? (locatePath(effect.path, workspace) ?? effect.path) : undefined;
      const wholeTree = effect?.kind === 'fs.write' && effect.tree === true;
      return parts.flatMap(({ layer, rules }) => {
        const matching = rules.filter((rule) => isAbout(rule, path, wholeTree));
        if (matching.length === 0) return [defaultFinding(layer, tool)];
        return matching.map((rule) => ruleFinding(layer, rule));
      });
    },
  };
}

/** Rules that ask about paths close those to programs, and so do those that deny. */
export const toolFences = (tool: string, { layers }: CompiledPolicy): readonly Fence[] =>
  layers.flatMap((layer) =>
    rulesFor(layer, tool).flatMap(({ globs = [], verdict: says }) =>
      globs.map((glob) => ({ glob, read: says !== 'allow', write: says !== 'allow' })),
    ),
  );

/** Paths that this tool has to ask about. */
export const askedPaths = ({ tools: own }: PolicyFile, tool: string): readonly string[] =>
  (own?.rules ?? []).flatMap((rule) =>
    rule.decision === 'ask' && matchesTool(rule.tool, tool) ? (rule.paths ?? []) : [],
  );

type ToolEntry = ReturnType<typeof entriesOf>[number];

const entriesOf = ({ file }: Layer) =>
  (file.tools?.rules ?? []).map(({ tool, decision, paths }, at) => ({
    rule: `tools.rules[${at}]`,
    tool,
    verdict: decision,
    globs: paths,
    paths: paths?.map(compilePathGlob),
  }));

const rulesFor = (layer: Layer, tool: string): readonly ToolEntry[] =>
  layer.part(entriesOf).filter((rule) => matchesTool(rule.tool, tool));

/** A rule with paths stops what touches one of them; what it allows there includes touching nothing. */
function isAbout({ paths, verdict: says }: ToolEntry, path: string | undefined, wholeTree: boolean): boolean {
  if (!paths) return true;
  if (path === undefined) return says !== 'deny';
  return paths.some((one) => one.matches(path) || (wholeTree && blocksTree(one, says, path)));
}

function ruleFinding(layer: Layer, { rule, tool, globs, verdict: says }: ToolEntry): Finding {
  const { where, ...cited } = layer.cite(rule);
  const paths = globs ? { paths: globs } : {};
  const grant = layer.grant({ tools: { rules: [{ tool, ...paths, decision: 'allow' }] } });
  return { verdict: says, ...cited, fact: `${where} says ${says}`, grant };
}

function defaultFinding(layer: Layer, tool: string): Finding {
  if (layer.name === UNTRUSTED_POLICY) return UNTRUSTED;
  const { where, ...cited } = layer.cite('tools.default');
  const says = layer.file.tools?.default ?? 'allow';
  const grant = layer.grant({ tools: { rules: [{ tool, decision: 'allow' }] } });
  return { verdict: says, ...cited, fact: `${where} says ${says}`, grant };
}

/** No line of haft.yaml helps where haft.yaml itself does not count. */
const UNTRUSTED: Finding = {
  verdict: 'deny',
  rule: 'trust',
  reason: 'policy.untrusted',
  fact: 'the policy of this workspace is not trusted on this machine, or no longer; read haft.yaml, then run haft trust in a terminal',
};

function strictestFor(host: PolicyFile['tools'], tool: string): Verdict {
  const rules = (host?.rules ?? []).filter((rule) => !rule.paths && matchesTool(rule.tool, tool));
  return strictestOf(rules.map(({ decision }) => decision)) ?? host?.default ?? 'allow';
}

type PlainRule = Omit<ToolRule, 'examples'>;

const plainRule = ({ tool, decision, paths }: ToolRule): PlainRule => ({
  tool,
  decision,
  ...(paths ? { paths } : {}),
});

/** Whether the one already let through whatever the other would. */
const coversRule = (one: PlainRule, rule: PlainRule): boolean =>
  !one.paths &&
  !isStricter(one.decision, rule.decision) &&
  (one.tool === rule.tool || (!/[*?[\]{}]/.test(rule.tool) && matchesTool(one.tool, rule.tool)));
