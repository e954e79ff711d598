// Owns: the list of subjects, in the order in which they are measured and reported.
// Refuses: anything else; a subject is a file of its own.
import type { Subject } from '../measure.ts';
import { artifactIngest } from './artifact-ingest.ts';
import { coldStart } from './cold-start.ts';
import { curl } from './curl.ts';
import { dockerRunSubject } from './docker-run.ts';
import { grep } from './grep.ts';
import { growth } from './growth.ts';
import { idleMemory } from './idle-memory.ts';
import { listInProcess } from './list-in-process.ts';
import { loadPacks } from './load-packs.ts';
import { mcpEcho } from './mcp-echo.ts';
import { mcpList } from './mcp-list.ts';
import { mcpRead } from './mcp-read.ts';
import { mcpSearch } from './mcp-search.ts';
import { mcpWrite } from './mcp-write.ts';
import { packCalls } from './pack-calls.ts';
import { readInProcess } from './read-in-process.ts';
import { runsReplay } from './runs-replay.ts';
import { runsStore } from './runs-store.ts';
import { serversDown } from './servers-down.ts';
import { shellExec } from './shell-exec.ts';
import { slurmWatch } from './slurm-watch.ts';
import { toolSearch } from './tool-search.ts';
import { writeInProcess } from './write-in-process.ts';

export const SUBJECTS: readonly Subject[] = [
  readInProcess,
  writeInProcess,
  listInProcess,
  loadPacks,
  grep,
  shellExec,
  dockerRunSubject,
  curl,
  artifactIngest,
  runsReplay,
  runsStore,
  mcpSearch,
  mcpRead,
  mcpList,
  mcpWrite,
  mcpEcho,
  coldStart,
  idleMemory,
  growth,
  packCalls,
  serversDown,
  toolSearch,
  slurmWatch,
];
