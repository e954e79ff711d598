// Owns: what one program needs of whatever contains it on a node.
// Refuses: to say what contains it.

export interface ContainedProgram {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly image?: string;
}
