// Owns: the list of builtin tools; a new tool is one line here.
// Refuses: tools of packs; loaders bring those.
import type { AnyTool } from '../contract/tool.ts';
import { artifactGet } from './artifacts/artifact-get.ts';
import { artifactImport } from './artifacts/artifact-import.ts';
import { artifactList } from './artifacts/artifact-list.ts';
import { artifactPreview } from './artifacts/artifact-preview.ts';
import { fileEdit } from './fs/file-edit.ts';
import { filePatch } from './fs/file-patch.ts';
import { fileRead } from './fs/file-read.ts';
import { fileWrite } from './fs/file-write.ts';
import { fsCopy } from './fs/fs-copy.ts';
import { fsDelete } from './fs/fs-delete.ts';
import { fsList } from './fs/fs-list.ts';
import { fsMove } from './fs/fs-move.ts';
import { grep } from './fs/grep.ts';
import { undo } from './fs/undo.ts';
import { curl } from './net/curl.ts';
import { procList } from './process/proc-list.ts';
import { shellExec } from './process/shell-exec.ts';
import { shellList } from './process/shell-list.ts';
import { shellRead } from './process/shell-read.ts';
import { shellSignal } from './process/shell-signal.ts';
import { shellStart } from './process/shell-start.ts';
import { shellWrite } from './process/shell-write.ts';
import { dockerJobGet } from './runs/docker-job-get.ts';
import { slurmJobCancel } from './runs/slurm-job-cancel.ts';
import { slurmJobCollect } from './runs/slurm-job-collect.ts';
import { slurmJobGet } from './runs/slurm-job-get.ts';
import { slurmSubmit } from './runs/slurm-submit.ts';

const BUILTINS = {
  artifactGet,
  artifactImport,
  artifactList,
  artifactPreview,
  curl,
  dockerJobGet,
  fileEdit,
  filePatch,
  fileRead,
  fileWrite,
  fsCopy,
  fsDelete,
  fsList,
  fsMove,
  grep,
  procList,
  shellExec,
  shellList,
  shellRead,
  shellSignal,
  shellStart,
  shellWrite,
  slurmJobCancel,
  slurmJobCollect,
  slurmJobGet,
  slurmSubmit,
  undo,
};

/** Each by its id in camel case: what the types of calls are made of (preset/tool-calls.ts). */
export type Builtins = typeof BUILTINS;

export const BUILTIN_TOOLS: readonly AnyTool[] = Object.freeze(Object.values(BUILTINS));
