// Owns: which arguments of a builtin a caller has to give, as types need it said; its schema says the same, and a test holds them together.
// Not here: checking a call; the schema does.

/** Arguments without which a call is refused. A tool that is not here has all of its arguments as optional ones. */
export const REQUIRED_ARGUMENTS = {
  artifact_get: ['artifact'],
  artifact_preview: ['artifact'],
  curl: ['url'],
  docker_job_get: ['run_id'],
  file_edit: ['path'],
  file_patch: ['path', 'unified_diff'],
  file_read: ['path'],
  file_write: ['path', 'content'],
  fs_copy: ['src', 'dst'],
  fs_delete: ['path'],
  fs_move: ['src', 'dst'],
  grep: ['pattern'],
  shell_exec: ['cmd'],
  shell_read: ['shell_id'],
  shell_signal: ['shell_id'],
  shell_start: ['cmd'],
  shell_write: ['shell_id', 'input'],
  slurm_job_cancel: ['run_id'],
  slurm_job_collect: ['run_id'],
  slurm_job_get: ['run_id'],
  slurm_submit: ['tool'],
  undo: ['call_id'],
} as const;
