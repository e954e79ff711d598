// Owns: the names of the web's globals that the contract's types use, so that they hold in programs without the DOM's or Node's types.
// Not here: what they are; where a program has those types, these declarations add nothing to them.
export {};

declare global {
  interface AbortSignal {}
  interface URL {}
}
