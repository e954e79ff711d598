// Owns: the types of calls by the name of the tool: what each takes and answers.
// Not here: checking at run time; every call is checked against the tool's schemas, whatever its types said.
import type { CallRequest, CallResponse } from '../contract/envelope.ts';
import type { JsonObject } from '../contract/json.ts';
import type { CallOptions } from '../contract/runtime.ts';
import type { Tool } from '../contract/tool.ts';
import type { Builtins } from '../tools/index.ts';
import type { REQUIRED_ARGUMENTS } from '../tools/required-arguments.ts';

/**
 * What tools take and answer, by id. A program adds those of its packs:
 *
 *     declare module 'haft' {
 *       interface ToolCalls {
 *         'pack.tool': { args: { id: string }; data: { title: string } };
 *       }
 *     }
 */
export interface ToolCalls extends BuiltinCalls {}

/** A response whose `data` is known once `ok` is. */
export type CallResult<Data> = Omit<CallResponse, 'ok' | 'data'> &
  ({ readonly ok: true; readonly data: Data } | { readonly ok: false; readonly data: unknown });

/** A request for the tool of this name; a name that is in no `ToolCalls` takes any arguments. */
export interface NamedRequest<Name extends string> extends CallRequest {
  readonly tool: Name;
}

/** Options of a call by name: what else a request has, and the options of every call. */
export type NamedCallOptions = CallOptions & Pick<CallRequest, 'requestId' | 'sessionId'>;

/** Both forms of the call: by name, and with a request. */
export interface TypedCall {
  <Name extends ToolName>(
    tool: Name,
    ...given: object extends ArgsOf<Name>
      ? [args?: ArgsOf<Name>, options?: NamedCallOptions]
      : [args: ArgsOf<Name>, options?: NamedCallOptions]
  ): Promise<ResultOf<Name>>;
  <Name extends ToolName>(request: NamedRequest<Name>, options?: CallOptions): Promise<ResultOf<Name>>;
}

/** `string & {}`: any name is taken, and editors still offer the known ones. */
type ToolName = keyof ToolCalls | (string & {});

type ArgsOf<Name> = Name extends keyof ToolCalls ? ToolCalls[Name]['args'] : JsonObject;
type ResultOf<Name> = Name extends keyof ToolCalls ? CallResult<ToolCalls[Name]['data']> : CallResponse;

// ------------------------------------------------------------------------------------------ the builtins

type BuiltinCalls = {
  readonly [Key in keyof Builtins as SnakeCase<Key>]: Builtins[Key] extends Tool<infer Args, infer Data>
    ? { readonly args: Given<Args, RequiredBy<SnakeCase<Key>>>; readonly data: Data }
    : never;
};

/** What `run` gets has its defaults filled in; who calls may leave those out. */
type Given<Args, Required> = Partial<Omit<Args, Required & keyof Args>> & Pick<Args, Required & keyof Args>;

type RequiredBy<Name> = Name extends keyof typeof REQUIRED_ARGUMENTS
  ? (typeof REQUIRED_ARGUMENTS)[Name][number]
  : never;

type SnakeCase<Text> = Text extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${SnakeCase<Rest>}`
  : '';
