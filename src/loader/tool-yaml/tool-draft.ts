// Owns: a `*.tool.yaml` as it was written, once every value is of its own right form.
// Refuses: being handed on: what leaves the loader is a whole YamlTool.
import type { Json, JsonObject, JsonSchema } from '../../contract/json.ts';
import type { YamlHealth, YamlKind } from '../../contract/yaml-tool.ts';

/** Every key may be missing: because it was not written, or because what was written is wrong and told. */
export interface ToolDraft {
  readonly id?: string;
  readonly version?: string;
  readonly name?: string;
  readonly description?: string;
  readonly tags?: readonly string[];
  readonly deterministic?: boolean;
  readonly idempotent?: boolean;
  readonly mutates?: boolean;
  readonly timeoutMs?: number;
  readonly limits?: LimitsDraft;
  readonly inputSchema?: JsonSchema;
  readonly outputSchema?: JsonSchema;
  readonly execution?: ExecutionDraft;
  readonly caps?: {
    readonly network?: readonly ('http' | 'https' | undefined)[];
    readonly filesystem?: {
      readonly read?: readonly (string | undefined)[];
      readonly write?: readonly (string | undefined)[];
    };
    readonly subprocess?: boolean;
  };
  readonly env?: {
    readonly passthrough?: readonly (string | undefined)[];
    readonly set?: { readonly [name: string]: string | undefined };
  };
  readonly templating?: {
    readonly engine?: 'jinja2';
    readonly context?: JsonObject;
    readonly cacheKey?: string;
  };
  readonly credentials?: { readonly [provider: string]: CredentialDraft | undefined };
  readonly config?: JsonSchema;
  readonly retry?: {
    readonly attempts?: number;
    readonly delayMs?: number;
    readonly maxDelayMs?: number;
    readonly factor?: number;
    readonly onStatus?: readonly (number | undefined)[];
  };
  readonly health?: Partial<YamlHealth>;
  readonly metadata?: JsonObject;
  readonly actions?: { readonly [name: string]: ActionDraft | undefined };
}

export interface LimitsDraft {
  readonly maxInputBytes?: number;
  readonly maxOutputBytes?: number;
}

/** The keys of all kinds; the table has made sure that those of others are not there. */
export interface ExecutionDraft {
  readonly kind?: YamlKind;
  readonly module?: string;
  readonly script?: string;
  readonly node?: string;
  readonly php?: string;
  readonly warm?: boolean;
  readonly cmd?: readonly (string | undefined)[];
  readonly url?: string;
  readonly method?: string;
  readonly headers?: { readonly [name: string]: string | undefined };
  readonly body?: Json;
}

export interface CredentialDraft {
  readonly scope?: 'system' | 'user' | 'any';
  readonly required?: boolean;
  readonly schema?: JsonSchema;
  readonly env?: { readonly [name: string]: string | undefined };
  readonly headers?: { readonly [name: string]: string | undefined };
  readonly context?: boolean;
}

export interface ActionDraft {
  readonly description?: string;
  readonly deterministic?: boolean;
  readonly idempotent?: boolean;
  readonly mutates?: boolean;
  readonly timeoutMs?: number;
  readonly limits?: LimitsDraft;
  readonly inputSchema?: JsonSchema;
  readonly outputSchema?: JsonSchema;
  readonly execution?: JsonObject;
}
