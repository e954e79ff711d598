// Owns: the list of backends. No directory is scanned: what is not here does not exist.
// Refuses: their engines, which each loads when it is opened.
import type { BackendKind } from '../contract/backend.ts';
import { docker } from './docker/docker.ts';
import { local } from './local/local.ts';
import { slurm } from './slurm/slurm.ts';

export const BACKENDS: readonly BackendKind[] = Object.freeze([local, docker, slurm]);
