// Owns: the parts that a template is made of, once it is parsed.
// Refuses: parts that would need another template (include, import, extends, block) or change how text is written.

export type Expression = { readonly line: number } & (
  | { readonly kind: 'literal'; readonly value: unknown }
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'list'; readonly items: readonly Expression[] }
  | { readonly kind: 'tuple'; readonly items: readonly Expression[] }
  | { readonly kind: 'dict'; readonly entries: readonly (readonly [Expression, Expression])[] }
  | { readonly kind: 'attribute'; readonly of: Expression; readonly name: string }
  | { readonly kind: 'item'; readonly of: Expression; readonly key: Expression }
  | {
      readonly kind: 'slice';
      readonly of: Expression;
      readonly start?: Expression | undefined;
      readonly stop?: Expression | undefined;
      readonly step?: Expression | undefined;
    }
  | { readonly kind: 'call'; readonly of: Expression; readonly args: Arguments }
  | { readonly kind: 'filter'; readonly of: Expression; readonly name: string; readonly args: Arguments }
  | {
      readonly kind: 'test';
      readonly of: Expression;
      readonly name: string;
      readonly args: Arguments;
      readonly negated: boolean;
    }
  | { readonly kind: 'unary'; readonly operator: '-' | '+' | 'not'; readonly of: Expression }
  | {
      readonly kind: 'binary';
      readonly operator: string;
      readonly left: Expression;
      readonly right: Expression;
    }
  | { readonly kind: 'concat'; readonly items: readonly Expression[] }
  | {
      readonly kind: 'compare';
      readonly first: Expression;
      readonly rest: readonly { readonly operator: string; readonly to: Expression }[];
    }
  | {
      readonly kind: 'condition';
      readonly test: Expression;
      readonly then: Expression;
      readonly otherwise?: Expression | undefined;
    }
);

export interface Arguments {
  readonly positional: readonly Expression[];
  readonly named: readonly (readonly [string, Expression])[];
}

export const NO_ARGUMENTS: Arguments = { positional: [], named: [] };

/** What is assigned to: one name, several, or a field of a namespace. */
export type Target =
  | { readonly names: readonly string[]; readonly several: boolean }
  | { readonly namespace: string; readonly field: string };

export type Statement = { readonly line: number } & (
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'print'; readonly value: Expression }
  | {
      readonly kind: 'if';
      readonly branches: readonly { readonly test: Expression; readonly body: readonly Statement[] }[];
      readonly otherwise: readonly Statement[];
    }
  | {
      readonly kind: 'for';
      readonly target: Target;
      readonly over: Expression;
      readonly filter?: Expression | undefined;
      readonly body: readonly Statement[];
      readonly otherwise: readonly Statement[];
    }
  | { readonly kind: 'set'; readonly target: Target; readonly value: Expression }
  | {
      readonly kind: 'set_block';
      readonly target: Target;
      readonly filters: readonly { readonly name: string; readonly args: Arguments }[];
      readonly body: readonly Statement[];
    }
  | {
      readonly kind: 'with';
      readonly values: readonly (readonly [string, Expression])[];
      readonly body: readonly Statement[];
    }
  | {
      readonly kind: 'filter_block';
      readonly filters: readonly { readonly name: string; readonly args: Arguments }[];
      readonly body: readonly Statement[];
    }
  | {
      readonly kind: 'macro';
      readonly name: string;
      readonly parameters: readonly { readonly name: string; readonly fallback?: Expression | undefined }[];
      readonly body: readonly Statement[];
    }
);
