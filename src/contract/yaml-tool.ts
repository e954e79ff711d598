// Owns: what one `*.tool.yaml` says, checked, with every default filled in: what adapters run and what lock files pin.
// Refuses: the file as it was written; what could be said in two ways there is said in one way here.
import type { Json, JsonObject, JsonSchema } from './json.ts';
import type { ToolLimits } from './tool.ts';

/**
 * A tool that a YAML file describes. It is plain JSON: it can be kept, sent and compared as it is. Whatever is in here
 * fits the loader's rules; nobody downstream checks it again.
 */
export interface YamlTool {
  /** Two or more dotted segments, each `[a-z][a-z0-9_]*`. */
  readonly id: string;
  /** SemVer 2.0.0. */
  readonly version: string;
  /** For people; the id where the file gives no name. */
  readonly name: string;
  /** What it does, and when to take another. Empty where the file says nothing. */
  readonly description: string;
  readonly tags: readonly string[];
  /** Equal inputs give equal outputs: a call has a run id and may be answered from an earlier result. */
  readonly deterministic: boolean;
  /** May be sent again when its answer was lost. By default: http tools that GET or HEAD, and deterministic ones. */
  readonly idempotent: boolean;
  /** Changes the workspace. By default: tools that have paths in `caps.filesystem.write`. */
  readonly mutates: boolean;
  /** The whole call, retries included, ends after so long; its process tree too. */
  readonly timeoutMs: number;
  readonly limits: Omit<ToolLimits, 'timeoutMs'>;
  /** Self-contained: every `$ref` leads to its own `$defs`. 2020-12, or draft-07 where its `$schema` says so. */
  readonly inputSchema: JsonSchema;
  readonly outputSchema: JsonSchema;
  readonly execution: YamlExecution;
  readonly caps: YamlCaps;
  readonly env: YamlEnv;
  /** Absent: nothing is a template, and braces are braces. */
  readonly templating?: YamlTemplating;
  readonly credentials: readonly YamlCredential[];
  /** What an installation may be configured with; templates and programs see the values as `config`. */
  readonly config?: JsonSchema;
  /** Absent: a call is sent once. */
  readonly retry?: YamlRetry;
  /** Absent: the health of the tool is what its calls show. */
  readonly health?: YamlHealth;
  /** Notes of its author; nothing goes by them. */
  readonly metadata?: JsonObject;
  /**
   * Where there are some, the file describes one tool for each of them, named `<id>.<action>`, and `<id>` alone cannot
   * be called. Sorted by name.
   */
  readonly actions: readonly YamlAction[];
  readonly source: YamlSource;
  /**
   * `toolpack/v1` digest over everything that can change what the tool does: this definition with its schemas, and the
   * content of the scripts that it names. Never over where it lies on this machine.
   */
  readonly digest: string;
}

/** Where it came from. Only `folder` differs between two machines that hold the same pack. */
export interface YamlSource {
  /** The pack's folder: absolute, links followed. Nothing that the file names lies outside of it. */
  readonly folder: string;
  /** The `*.tool.yaml`, relative to the pack's folder, with `/`. Paths in the file are relative to its own folder. */
  readonly file: string;
  /** Every file of the pack that the definition runs, relative to the pack's folder, sorted by path. */
  readonly scripts: readonly YamlScript[];
}

export interface YamlScript {
  readonly path: string;
  /** Of the content when the pack was loaded; null where nothing is there yet. */
  readonly sha256: string | null;
}

/** What an action may say otherwise than its tool. */
export type ActionWords =
  | 'deterministic'
  | 'idempotent'
  | 'mutates'
  | 'timeoutMs'
  | 'limits'
  | 'inputSchema'
  | 'outputSchema';

/** An action: what its tool says, with its own words where it has some. `id` is `<id of the tool>.<name>`. */
export interface YamlAction extends Pick<YamlTool, 'id' | 'name' | 'description' | ActionWords> {
  /** The tool's execution with the action's keys put over it; of the same kind, always. */
  readonly execution: YamlExecution;
}

// ---------------------------------------------------------------------------------------- execution

/**
 * How it is run. All kinds but http are programs: one JSON line on stdin, `{"input": …}`, with `"action"` and `"config"`
 * where there are some; JSON data or a whole envelope on stdout.
 */
export type YamlExecution = { [K in YamlKind]: { readonly kind: K } & YamlExecutions[K] }[YamlKind];

export type YamlKind = keyof YamlExecutions;

/** A new kind adds a line here, one in the loader's table of kinds, and an adapter. */
export interface YamlExecutions {
  python: { readonly entry: YamlModule | YamlScriptEntry; readonly warm: boolean };
  node: { readonly entry: YamlModule | YamlScriptEntry; readonly warm: boolean };
  php: { readonly entry: YamlScriptEntry };
  cli: YamlCommand;
  http: YamlRequest;
}

/** A program of the pack, started for each call. `path` is relative to the pack's folder. */
export interface YamlScriptEntry {
  readonly by: 'script';
  readonly path: string;
}

/**
 * A function that is called with the input, and whose answer (or promise, or awaitable) is the data.
 *
 * Python: `module` is dotted; it is looked for in `folder`, then in the pack's folder, then where the interpreter looks.
 * Node: `module` is a path of the pack's folder, or the name of a package that is installed in it.
 */
export interface YamlModule {
  readonly by: 'module';
  readonly module: string;
  /** Python: a name or a dotted path of names. Node: the name of an export. */
  readonly callable: string;
  /** The folder of the `*.tool.yaml`, relative to the pack's folder; '' is the pack's folder itself. */
  readonly folder: string;
  /** The module's own file, relative to the pack's folder, where the pack holds it. */
  readonly file?: string;
}

export interface YamlCommand {
  /** Program and arguments, as they are: no shell reads them. With `templating` each of them is a template. */
  readonly cmd: readonly [string, ...string[]];
  /**
   * Where `cmd[0]` has a slash and is relative, the file of the pack that it names, relative to the pack's folder. Else
   * the program is looked up on the sandbox's PATH, or is absolute.
   */
  readonly script?: string;
}

export interface YamlRequest {
  /** http or https, without user and password. With `templating` a template. */
  readonly url: string;
  /** In capitals. By default GET, and POST where there is a `body`. */
  readonly method: string;
  /** Values are templates with `templating`. */
  readonly headers: { readonly [name: string]: string };
  /**
   * A text is sent as it is; anything else as JSON. With `templating` every text in it is a template. Without a `body`,
   * POST, PUT and PATCH send the input as JSON.
   */
  readonly body?: Json;
}

// ------------------------------------------------------------------------------------ what it needs

/** What the tool needs of the machine. What is not here it does not get, whatever policy grants. */
export interface YamlCaps {
  /** Where http tools say nothing, the scheme of their url. Empty: no network. */
  readonly network: readonly ('http' | 'https')[];
  readonly filesystem: {
    /** Normalised; relative to the workspace (`.` is all of it) or absolute, each with everything below it. */
    readonly read: readonly string[];
    /** May also be read. */
    readonly write: readonly string[];
  };
  /** May start other programs; its own program is not one. */
  readonly subprocess: boolean;
}

/** The environment that its program sees, beside what an interpreter needs to start. Names are upper case. */
export interface YamlEnv {
  /** Taken from the host's environment, where they are set there. */
  readonly passthrough: readonly string[];
  /** Values are templates with `templating`. */
  readonly set: { readonly [name: string]: string };
}

/**
 * Templates see `input`, `env` (what `YamlEnv` grants), `action`, `config`, `credentials` (of those with `context`),
 * `id`, `version`, and the keys of `context`.
 */
export interface YamlTemplating {
  readonly engine: 'jinja2';
  readonly context: JsonObject;
  /** Of a deterministic tool: what stands for the input in the identity of a run. */
  readonly cacheKey?: string;
}

/** A secret that the tool needs. It is put in place at the last moment and never part of a run's identity. */
export interface YamlCredential {
  /** `[a-z][a-z0-9_-]*`, such as `github`. */
  readonly provider: string;
  /** Whose: `any` takes the user's first, then the system's. */
  readonly scope: 'system' | 'user' | 'any';
  /** A tool without a required credential is listed as disabled. */
  readonly required: boolean;
  /** What the secret must look like: an object of texts. By default `{token}`. */
  readonly schema: JsonSchema;
  /** Environment variable → field of the secret. */
  readonly env: { readonly [name: string]: string };
  /** Of http tools: header → template over the secret's fields, such as `Bearer {{ token }}`. */
  readonly headers: { readonly [name: string]: string };
  /** Whether templates see it as `credentials.<provider>`. */
  readonly context: boolean;
}

// --------------------------------------------------------------------------------------- reliability

/** Delays grow by `factor` and are jittered. What is not idempotent is sent again only where it provably did not leave. */
export interface YamlRetry {
  /** Counts the first one. */
  readonly attempts: number;
  readonly delayMs: number;
  readonly maxDelayMs: number;
  readonly factor: number;
  /** Of http tools: answers that count as failed. */
  readonly onStatus: readonly number[];
}

/**
 * `process`: its program can be started. `connection`: its host accepts one. `endpoint`: `url` answers with a status
 * below 400. `ping`: a call with `input` succeeds.
 */
export interface YamlHealth {
  readonly strategy: 'process' | 'connection' | 'endpoint' | 'ping';
  readonly intervalMs: number;
  readonly timeoutMs: number;
  /** So many failures in a row make it unhealthy, so many successes ready again. */
  readonly failureThreshold: number;
  readonly successThreshold: number;
  readonly url?: string;
  readonly input?: JsonObject;
}
