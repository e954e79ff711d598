// Owns: what one check of `haft doctor` found.
// Refuses: to check anything; diagnose.ts and its neighbours do.

export interface Finding {
  readonly name: string;
  /** `weaker` works, with less of a guarantee than elsewhere. `absent` is a program that not everybody needs. */
  readonly state: 'ok' | 'weaker' | 'absent' | 'failed';
  readonly evidence: string;
  readonly fix?: string;
}
