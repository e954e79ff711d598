// Owns: what authors of toolpacks import: the ABI's types, `defineTool`, and the usual `run`.
// Refuses: the host's side; that is loader/toolpack.
export type { Json, JsonObject, JsonSchema } from './contract/json.ts';
export type { ObjectId } from './contract/object-store.ts';
export type { RunResources } from './contract/plan.ts';
export {
  type CanonicalCall,
  type CanonicalizeContext,
  type DockerInput,
  type DockerPlan,
  defineTool,
  type HybridPlan,
  type MutableState,
  type PlanKind,
  refuseArgument,
  runPlan,
  type SlurmInput,
  type SlurmPlan,
  type StandardJsonSchema,
  type ToolDefinition,
  type ToolOutput,
  type ToolPlan,
  type ToolRun,
} from './contract/toolpack.ts';
export type * from './contract/web-globals.ts';
