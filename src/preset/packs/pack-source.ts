// Owns: what a source of packs is: which entries of `packs:` it takes, how it opens them, what it says of them unopened.
// Refuses: to know any source; `sources/index.ts` lists them.
import type { LogFor } from '../../adapters/line-program.ts';
import type { CredentialNeed, Credentials } from '../../contract/credentials.ts';
import type { Diagnostic } from '../../contract/diagnostic.ts';
import type { JsonObject, MaybePromise, SchemaCompiler } from '../../contract/json.ts';
import type { BoundTool } from '../../contract/manifest.ts';
import type { ReadInputs } from '../../contract/runs.ts';
import type { OpenPack, Runtime } from '../../contract/runtime.ts';
import type { CodeCopies } from '../../loader/code/code-copies.ts';

export interface PackEntry {
  /** The key of its source. */
  readonly kind: string;
  /** `[a-z][a-z0-9_]*`. What ids of a server's tools begin with. */
  readonly name: string;
  /** Of a pack in a folder: relative to haft.yaml. */
  readonly path?: string;
  readonly config: JsonObject;
  readonly enabled: boolean;
}

export interface PackSource {
  /** What such entries have in `packs:`. Of several sources with one key the first that matches takes the entry. */
  readonly key: string;
  /** The key names a folder, which is followed while a host runs, with `config` beside it. Absent: it holds the config. */
  readonly folder?: true;
  /** Absent: every entry with the key. `root` is where haft.yaml lies. */
  matches?(entry: PackEntry, root: string): boolean;
  /** Once for each host that has such an entry. */
  open(parts: PackParts): MaybePromise<OpenEntry>;
  /** What would keep an entry from opening, without running anything. Answers with what is wrong in its files. */
  check?(entry: PackEntry, site: CheckSite): Promise<readonly Diagnostic[]>;
  /** The credentials that its tools declare, without starting anything. */
  needs?(entry: PackEntry, root: string): MaybePromise<readonly PackNeed[]>;
  /** Whether it has a tool of one of these ids or names, as far as can be told without opening it. */
  hasTool?(entry: PackEntry, ids: readonly string[], site: NameSite): MaybePromise<boolean>;
  /** What its tools run, one line each, for a person who is asked to trust them; `quoted` is for what the files say. */
  describe?(
    entry: PackEntry,
    root: string,
    quoted: (text: string) => string,
  ): MaybePromise<readonly string[]>;
}

/** Opens an entry. One entry may be several packs. */
export type OpenEntry = (entry: PackEntry, follow: PackFollow) => Promise<readonly OpenPack[]>;

/** How a pack that is open tells what became of it. */
export interface PackFollow {
  /** The pack says this from now on; settles when it does, rejects where it cannot. What nobody accepted is quarantined. */
  changed(name: string, said: PackSaid): Promise<void>;
  /** Why a tool of the pack cannot be called: nobody accepted it. */
  barred(name: string, id: string): string | undefined;
  /** Aborts when the pack is not open any more. */
  readonly signal: AbortSignal;
}

/** What a server says of itself. */
export type PackSaid = Pick<OpenPack, 'tools' | 'refused' | 'problems'>;

/** What a host opens packs with. */
export interface PackParts {
  /** The workspace: haft.yaml lies here. */
  readonly root: string;
  readonly runtime: Runtime;
  readonly schemas: SchemaCompiler;
  readonly credentials: Credentials;
  /** Of what programs of packs are made of. */
  readonly code: CodeCopies;
  readonly readInputs: ReadInputs;
  readonly logFor: LogFor;
  readonly onWarning: (message: string) => void;
  /** Servers are asked also where their tools are known, and it fails where one is not there. */
  readonly fresh: boolean;
  /** The host stays: what is not there may come. */
  readonly living: boolean;
}

export interface CheckSite {
  readonly root: string;
  readonly schemas: SchemaCompiler;
  /** `at` is the place below the entry: `.mcp.env.set`. */
  tell(at: string, code: string, message: string): void;
}

export interface PackNeed extends CredentialNeed {
  /** The tool, or the pack that is a server. */
  readonly by: string;
}

export interface NameSite {
  readonly root: string;
  /** What MCP clients call a tool. */
  nameOf(id: string): string;
}

export const areSameIds = (a: OpenPack['refused'] = {}, b: OpenPack['refused'] = {}): boolean =>
  JSON.stringify(a) === JSON.stringify(b);

export const areSameTools = (a: readonly BoundTool[], b: readonly BoundTool[]): boolean =>
  a === b || JSON.stringify(a) === JSON.stringify(b);
