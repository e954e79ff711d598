// Owns: what holding values against a table needs to know beside the table.
// Refuses: checking; see check-shape.

import type { Shape, TextProblem } from '../../contract/shape.ts';
import type { Teller } from './problem.ts';
import type { Way } from './way.ts';

export interface ShapeSite {
  readonly tell: Teller;
  /** What the whole is called in messages: `haft.yaml`. */
  readonly name: string;
  /** The whole table, to say where a misplaced key belongs. */
  readonly root: Shape;
  /** What the text checks that the table names find. */
  texts(check: string, text: string): readonly TextProblem[];
  /** For tables that hold JSON Schemas. Answers with what is kept of one, undefined where it is wrong. */
  schema?(value: unknown, way: Way | undefined): unknown;
}
