// Owns: the public SDK: what a program that embeds Haft may use.
// Refuses: default exports, and anything that is not documented in the contract.
export { canonicalJson } from './base/canonical-json.ts';
export type {
  CallScope,
  Capability,
  CapabilitySite,
  PathChange,
  ToolContext,
} from './contract/capability.ts';
export type { Diagnostic } from './contract/diagnostic.ts';
export type { Effect } from './contract/effect.ts';
export {
  type CallRequest,
  type CallResponse,
  type ErrorMessage,
  type EventMessage,
  type Heartbeat,
  type ToolRequest,
  type ToolResponse,
  toToolResponse,
} from './contract/envelope.ts';
export { ERRORS, type ErrorCode, type ErrorEntry, fail, isFailure, type Reason } from './contract/errors.ts';
export type { Json, JsonObject, JsonSchema } from './contract/json.ts';
export type { Runtime } from './contract/runtime.ts';
export { type AnyTool, defineBuiltin, type Tool, type ToolContract } from './contract/tool.ts';
export { VERSION } from './contract/version.ts';
export type * from './contract/web-globals.ts';
export type { YamlTool } from './contract/yaml-tool.ts';
export {
  type PackReport,
  ToolpackLoader,
  type ToolpackLoaderOptions,
} from './loader/tool-yaml/toolpack-loader.ts';
export { ToolpackValidationError } from './loader/tool-yaml/toolpack-validation-error.ts';
export {
  createDefaultRuntime as createRuntime,
  type DefaultRuntime,
  type DefaultRuntimeOptions as RuntimeOptions,
} from './preset/default.ts';
// By a star, so that programs can extend `ToolCalls` under the name of this package.
export type * from './preset/tool-calls.ts';
