// Owns: the place of the builtins' schema checks; the build fills it with compiled code.
// Refuses: hand-written entries. Run from source it is empty, and schemas are compiled when first used.
import type { PrecompiledChecks } from '../loader/schema/schema-compiler.ts';

export const PRECOMPILED_CHECKS: PrecompiledChecks = {};
