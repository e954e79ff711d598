// Owns: what authors of adapters, backends, rules, stores, toolpacks and tools outside of this package may test with.
// Refuses: anything that is not a suite or what a suite needs.

export type * from './contract/web-globals.ts';
export { openToolpackBench, toolpackSuite } from './preset/toolpack-bench.ts';
export { ADAPTER_CASES, type AdapterEnvironment, adapterSuite } from './testing/adapter-suite.ts';
export * from './testing/backend-suite.ts';
export {
  type ConformanceCase,
  type Environment,
  failingCases,
  registerCases,
} from './testing/conformance.ts';
export * from './testing/object-store-suite.ts';
export * from './testing/replay-suite.ts';
export { RULE_CASES, type RuleEnvironment, ruleSuite } from './testing/rule-suite.ts';
export * from './testing/store-suite.ts';
export { TOOLPACK_CASES, type ToolpackEnvironment } from './testing/toolpack-suite.ts';
