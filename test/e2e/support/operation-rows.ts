// Owns: one row or more for every operation: what is asked of it, in which order, and what of the answer counts.
// Refuses: doors; both are asked the same.

// biome-ignore lint/suspicious/noExplicitAny: an answer is whatever the operation says
type Json = any;

/** Answers so far, by the operation and the words of its row. */
export type Seen = Record<string, Json>;

interface RowDoor {
  readonly root: string;
  readonly seen: Seen;
  call(tool: string, args: object): Promise<unknown>;
}

export interface Row {
  readonly id: string;
  /** Tells rows of one operation apart. */
  readonly what?: string;
  readonly args?: object | ((seen: Seen) => object);
  /** What the command line is given on standard input for an argument that is a secret. */
  readonly stdin?: string;
  /** Where the command line says it otherwise. */
  argv?(args: Json): readonly string[];
  /** Of bytes that the command line writes into a file. */
  read?(root: string): string;
  /** Of lines that never end: so many are taken. */
  readonly until?: number;
  /** The reason that both refuse it with. */
  readonly fails?: string;
  before?(door: RowDoor): Promise<unknown>;
  /** What of the answer is compared; all of it by default. */
  shown?(answer: Json): unknown;
  check?(answer: Json): void;
  /** The row that it leaves in the audit, where that is not `haft GROUP WORD`; null: none, since it changed nothing here. */
  readonly leaves?: string | null;
}

export const ROWS: readonly Row[] = [
  { id: 'tools.list' },
  { id: 'tools.show', args: { tool: 'file_read' } },
  { id: 'tools.show', what: 'of no tool', args: { tool: 'file_raed' }, fails: 'tool.unknown' },
  { id: 'tools.search', args: { words: ['read', 'a', 'file'], limit: 3 } },
  { id: 'tools.add', args: { name: 'hub', command: ['node', 'server/hub.mjs'] } },
  {
    id: 'tools.add',
    what: 'twice',
    args: { name: 'hub', command: ['node', 'server/hub.mjs'] },
    fails: 'pack.invalid',
  },
  { id: 'tools.config', leaves: null },
  { id: 'tools.config', what: 'of one', args: { pack: 'hub' }, leaves: null },
  {
    id: 'tools.config',
    what: 'changed',
    args: { pack: 'hub', config: { command: ['node', 'server/hub.mjs', 'x'] } },
  },
  { id: 'tools.lock' },
  { id: 'tools.lock', what: 'accepted', args: { accept: true } },
  { id: 'tools.health' },
  { id: 'tools.logs', args: { pack: 'hub' }, shown: ({ pack }) => pack },
  { id: 'tools.disable', args: { pack: 'hub' } },
  { id: 'tools.enable', args: { pack: 'hub' } },
  { id: 'tools.remove', args: { pack: 'hub' } },
  { id: 'audit.list', args: { tool: 'haft tools add' } },
  { id: 'audit.list', what: 'of one outcome', args: { outcome: 'denied' } },
  { id: 'audit.head' },
  { id: 'audit.tail', args: { tool: 'haft tools remove' }, until: 1 },
  { id: 'audit.verify', shown: ({ ok, kept }) => [ok, kept.state], leaves: null },
  {
    id: 'audit.verify',
    what: 'and takes it',
    args: { accept: true },
    shown: ({ ok }) => ok,
    leaves: 'haft audit verify --accept',
  },
  { id: 'audit.checkpoint', shown: ({ size }) => size },
  { id: 'audit.export', shown: (rows) => rows.map(({ tool, phase }: Json) => [tool, phase]) },
];
