// Owns: the list of deciders, one for each kind of effect.
// Refuses: a kind without one; the type says so.
import type { EffectKind } from '../../contract/effect.ts';
import { decideArtifact } from './artifact.ts';
import type { Decider } from './decider.ts';
import { decideExec } from './exec.ts';
import { decideFsRead } from './fs-read.ts';
import { decideFsWrite } from './fs-write.ts';
import { decideGit } from './git.ts';
import { decideNetConnect } from './net-connect.ts';
import { decideProcList } from './proc-list.ts';
import { decideRun } from './run.ts';
import { decideRunBackend } from './run-backend.ts';
import { decideRunSubmit } from './run-submit.ts';

export const DECIDERS: { readonly [K in EffectKind]: Decider<K> } = {
  'fs.read': decideFsRead,
  'fs.write': decideFsWrite,
  exec: decideExec,
  'net.connect': decideNetConnect,
  git: decideGit,
  'proc.list': decideProcList,
  'artifact.read': decideArtifact,
  'artifact.import': decideArtifact,
  'run.read': decideRun,
  'run.backend': decideRunBackend,
  'run.submit': decideRunSubmit,
  'run.cancel': decideRun,
};
