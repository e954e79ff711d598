// Owns: the one table of haft.yaml's keys: what each may hold, its default, and what it means.
// Refuses: a second copy; diagnostics, the JSON Schema and the reference page are all made from this.
import type { PolicyFile } from '../../contract/policy.ts';
import type { ChoiceShape, MapShape, Shape } from '../../contract/shape.ts';
import { RUNS } from './runs-shape.ts';
import { LARGEST, LONGEST_MS, list, number, text } from './shape-words.ts';

/** A thousand years. */
const MOST_DAYS = 365_000;

const VERDICTS = ['allow', 'ask', 'deny'];
const verdict = (doc: string, byDefault?: string): ChoiceShape => ({
  is: 'choice',
  of: VERDICTS,
  doc,
  ...(byDefault ? { default: byDefault } : {}),
});
const examples = (what: string): MapShape => ({
  is: 'map',
  doc: 'Calls that this rule must let through and must not, checked whenever the policy is loaded.',
  keys: {
    allow: list(text('example', what), 'Must be let through, without a question.'),
    deny: list(text('example', what), 'Must be denied or asked about.'),
  },
});

const domainRule: MapShape = {
  is: 'map',
  doc: 'A host with more to say about it.',
  required: ['domain'],
  keys: {
    domain: text(
      'domain',
      '`example.org`, `*.example.org` (every host below it), or with a port: `localhost:8080`.',
    ),
    decision: verdict('What happens to connections to it.', 'allow'),
    private: {
      is: 'flag',
      doc: 'Whether the host may resolve to a private or loopback address.',
      default: 'false',
    },
    examples: examples('A host or a URL.'),
  },
};

const shellRule: MapShape = {
  is: 'map',
  doc: 'A pattern with more to say about it.',
  required: ['pattern'],
  keys: {
    pattern: text(
      'pattern',
      'A linear-time regular expression (RE2) over the canonical simple command. Write it in single quotes.',
    ),
    decision: verdict('What happens to commands that match.', 'allow'),
    examples: examples('A shell line, taken apart as a call is: every command in it counts.'),
  },
};

const toolRule: MapShape = {
  is: 'map',
  doc: 'What happens to calls of some tools.',
  required: ['tool', 'decision'],
  keys: {
    tool: text('tool-glob', 'A tool id; `*` stands for any characters.'),
    decision: verdict('What happens to calls of it.'),
    paths: list(
      text('path-glob', 'A glob over workspace-relative paths.'),
      'With it, only calls that touch one of these match.',
    ),
    examples: examples('A tool id; where the rule has `paths`, a tool id, a space and a path.'),
  },
};

const pathRule: MapShape = {
  is: 'map',
  doc: 'What happens to reads and writes of some paths.',
  required: ['path'],
  someOf: ['read', 'write'],
  keys: {
    path: text(
      'path-glob',
      'A glob over workspace-relative paths. Where its last part has no wildcard it also holds for everything below.',
    ),
    read: verdict('What happens to reads of it.'),
    write: verdict('What happens to writes of it.'),
    programs: {
      is: 'choice',
      of: ['allow', 'deny'],
      doc: '`allow` binds tools alone: where `path` matches, no rule of this file keeps sandboxed programs from what this rule names (`read`, `write`).',
      default: 'deny',
    },
    examples: examples('A path; `read:` or `write:` before it names one of the two.'),
  },
};

const SECTIONS = {
  version: { is: 'constant', value: 1, doc: 'The version of this format.' },
  network: {
    is: 'map',
    doc: 'Where connections may go. Without it: nowhere.',
    keys: {
      allowed_domains: list(
        {
          is: 'shorthand',
          doc: 'A host, or a host with more to say about it.',
          text: text('domain', 'A host that may be reached.'),
          map: domainRule,
        },
        'Hosts that may be reached; https on port 443 and http on port 80 unless a port is named.',
      ),
    },
  },
  shell_allow: list(
    {
      is: 'shorthand',
      doc: 'A pattern, or a pattern with more to say about it.',
      text: text('pattern', 'Commands that match may run.'),
      map: shellRule,
    },
    'Commands that may run. Every simple command in a line must match. Without it: none.',
  ),
  git: {
    is: 'map',
    doc: 'What git tools may do.',
    keys: {
      allow_push: { is: 'flag', doc: 'Whether commits may be pushed.', default: 'false' },
      require_clean_tree_for_commit: {
        is: 'flag',
        doc: 'Whether a commit is refused while there are unstaged changes.',
        default: 'false',
      },
    },
  },
  ast: {
    is: 'map',
    doc: 'How code is parsed and edited.',
    keys: {
      language: text('name', 'The language of files whose name does not tell.'),
      format_on_save: { is: 'flag', doc: 'Whether edited code is formatted.', default: 'false' },
      validate_on_edit: { is: 'flag', doc: 'Whether edited code must still parse.', default: 'false' },
    },
  },
  validators: list(
    {
      is: 'map',
      doc: 'A rule and how strictly it is taken.',
      required: ['rule', 'enforcement'],
      keys: {
        rule: text('name', 'The id of a rule. Rules that begin with `sec.` are always blocking.'),
        enforcement: {
          is: 'choice',
          of: ['blocking', 'warning', 'suggestion'],
          doc: 'Whether a violation stops the call or is only told.',
        },
      },
    },
    'Rules that look at what calls change.',
  ),
  tools: {
    is: 'map',
    doc: 'Which tools may be called at all.',
    keys: {
      default: verdict('What happens to tools that no rule names.', 'allow'),
      rules: list(toolRule, 'Of the rules that match a call the strictest wins.'),
    },
  },
  paths: {
    is: 'map',
    doc: 'Which files may be touched. Without it: everything in the workspace that is not protected.',
    keys: {
      extra_roots: list(
        text('folder', 'A folder, relative to haft.yaml or absolute.'),
        'Folders beside the workspace that paths may lie below. None that holds the workspace, or the folders where Haft keeps its key and what you trust.',
      ),
      rules: list(pathRule, 'Of the rules that match a path the strictest wins.'),
    },
  },
  budgets: {
    is: 'map',
    doc: 'What a session may use up, unless it is opened with less. Over all processes: of calls no more are begun than this; time and bytes are added up when a call ends, so that calls under way at once may pass them together.',
    keys: {
      calls: number('Calls.', 0, LARGEST, 'no limit'),
      wall_ms: number('Milliseconds that calls run, added up.', 0, LARGEST, 'no limit'),
      bytes: number('Bytes of arguments and answers, added up.', 0, LARGEST, 'no limit'),
    },
  },
  limits: {
    is: 'map',
    doc: "What one call may use. The smaller of these and the tool's own limits holds.",
    keys: {
      max_input_bytes: number('Bytes of the arguments.', 1, LARGEST, "the tool's"),
      max_output_bytes: number('Bytes of the answer.', 1, LARGEST, "the tool's"),
      timeout_ms: number('Milliseconds until the call is ended.', 1, LONGEST_MS, "the tool's"),
    },
  },
  approvals: {
    is: 'map',
    doc: 'How calls that must be asked about wait.',
    keys: {
      expire_ms: number('Milliseconds until a question is no longer open.', 1, LARGEST, '15 minutes'),
    },
  },
  undo: {
    is: 'map',
    doc: 'What is kept so that calls can be undone.',
    keys: {
      max_bytes: number('Bytes that one call may keep.', 0, LARGEST, '64 MiB'),
      keep: {
        is: 'map',
        doc: 'Which calls can be undone. What others need more is kept all the same, and so is what was stored within the last hour.',
        keys: {
          days: number('Calls of the last so many days.', 0, MOST_DAYS, '30'),
          bytes: number(
            'The newest calls, as long as what they replaced is no larger together.',
            0,
            LARGEST,
            '512 MiB',
          ),
        },
      },
    },
  },
  audit: {
    is: 'map',
    doc: 'How the audit is kept. No row is ever removed: older ones go into compressed segments in `.haft/audit/`, where they are still listed, verified and exported.',
    keys: {
      keep: {
        is: 'map',
        doc: 'What stays in the database.',
        keys: {
          days: number('Rows of the last so many days.', 0, MOST_DAYS, '30'),
          rows: number('The newest so many rows.', 0, LARGEST, '20,000'),
        },
      },
    },
  },
  sandbox: {
    is: 'choice',
    of: ['required', 'optional'],
    doc: '`required` refuses what needs a sandbox where none can be had; `optional` runs it and says so.',
    default: 'required',
  },
  packs: list(
    {
      is: 'shorthand',
      doc: 'A pack: where it lies, or what it is.',
      text: text('folder', 'A path relative to haft.yaml, inside of the workspace.'),
      map: { is: 'open', doc: 'The description of a pack.' },
    },
    'Where tools come from beside the builtins. Their folders are read-only to tools.',
  ),
  runs: RUNS,
} as const satisfies { readonly [K in keyof Required<PolicyFile>]: Shape };

export const HAFT_YAML: MapShape = {
  is: 'map',
  doc: 'What this workspace grants to tools.',
  required: ['version'],
  keys: SECTIONS,
};
