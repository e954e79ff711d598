// Owns: the place of the attacks: a workspace with a policy, a folder outside, servers, a victim, and one runtime.
// Refuses: to leave anything behind, and to let one case's damage be another's.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import type { ShellLine } from '../../../../src/contract/exec.ts';
import {
  type CallResponse,
  createRuntime,
  type DefaultRuntime,
  defineBuiltin,
  type Json,
  type JsonObject,
  type JsonSchema,
  type ToolContext,
} from '../../../../src/index.ts';
import { shellExec } from '../../../../src/tools/process/shell-exec.ts';
import { ADDRESSES } from '../apart.ts';
import { makeWorkspace, type Workspace } from '../workspace.ts';
import type { Script, Step } from './case.ts';
import { KIT } from './kit.ts';
import { GRANTED_NAMES, type Listeners, startListeners } from './listeners.ts';

/** In every file and variable that nobody may read, and nowhere else. */
export const SENTINEL = 'SENTINEL-51c8-nobody-may-read-this';

export interface Arena {
  readonly workspace: Workspace;
  readonly outside: Workspace;
  readonly listeners: Listeners;
  readonly runtime: DefaultRuntime;
  /** A process of the same user that minds its own business. */
  readonly victim: ChildProcess;
  /** In the environment, and as an argument of `sleep`, of what the attacks start. */
  readonly mark: string;
  /** How long the last disk fill went on beyond its limit, in milliseconds. */
  overrun: number;
  call(step: Step, signal?: AbortSignal): Promise<CallResponse>;
  /** Puts the workspace back in order; `all` also what nobody may change. */
  arm(all?: boolean): void;
  close(): Promise<void>;
}

/** What no attack may change, relative to the workspace. */
export const GUARDED = [
  ...['haft.yaml', 'haft.lock', '.git', 'nested/.git', 'packs', 'secrets', 'frozen'],
  ...['inner/.haft', 'inner/haft.yaml', 'inner/haft.lock', 'inner/tools', 'apart/.git', 'store'],
  ...['frozenX', '.envrc', 'absent', 'releases/42/key', 'realconf', 'tools/hooks'],
];
const KEPT = new Set([...GUARDED.map((path) => path.split('/')[0]!), '.haft', 'linked', 'current', 'conf']);

export async function makeArena(network: boolean): Promise<Arena> {
  process.env.HAFT_ESCAPE_SECRET = SENTINEL;
  const outside = makeWorkspace({ 'secret.txt': `${SENTINEL}\n`, 'd/f': `${SENTINEL}\n` });
  // Not its mode shall protect it, but that it is not there.
  chmodSync(outside.root, 0o777);
  chmodSync(outside.path('secret.txt'), 0o666);
  const listeners = await startListeners(outside.root, network);
  const workspace = makeWorkspace();
  const arm = (all = false) => {
    for (const name of readdirSync(workspace.root))
      if (!KEPT.has(name) || (all && name !== '.haft')) remove(workspace.path(name));
    if (all) putGuarded(workspace, listeners);
    putPlain(workspace, outside);
  };
  arm(true);
  const victim = spawn('sleep', ['3600'], { stdio: 'ignore' });
  const runtime = await createRuntime({ workspace: workspace.root, tools: [shellLimited] });
  const mark = `90000.${process.pid}`;
  const values: Readonly<Record<string, string>> = {
    outside: outside.root,
    workspace: workspace.root,
    ...Object.fromEntries(Object.entries(listeners.ports).map(([name, port]) => [name, `${port}`])),
  };
  const env = {
    ESCAPE_MARK: mark,
    OUTSIDE: outside.root,
    CLOSED: values.closed!,
    GRANTED: values.granted!,
    REBIND: values.rebind!,
    DNS: values.dns!,
    UNIX: listeners.unixSocket,
    ABSTRACT: listeners.abstractSocket,
    ADDRESSES: [...Object.values(ADDRESSES), ...ownAddresses()].join(' '),
    VICTIM: `${victim.pid}`,
    HOST: `${process.pid}`,
  };
  let scripts = 0;
  const lineOf = ({ language, text }: Script): string => {
    const file = `attacks/${++scripts}.${language === 'bash' ? 'sh' : 'pl'}`;
    workspace.put(file, text);
    return `${language} ${file}`;
  };
  return {
    workspace,
    outside,
    listeners,
    runtime,
    victim,
    mark,
    overrun: 0,
    arm,
    call({ tool, args, script }, signal) {
      const own = script ? { cmd: lineOf(script), env } : {};
      return runtime.call(
        { tool, args: filled({ ...own, ...args }, values) as JsonObject },
        signal ? { signal } : {},
      );
    },
    async close() {
      await runtime.close();
      await listeners.close();
      victim.kill('SIGKILL');
      remove(workspace.root);
      outside.remove();
    },
  };
}

/** What a line may run: plain commands, and the programs of the attacks as files. */
const policyOf = ({ ports }: Listeners): string => `version: 1
shell_allow:
  - '^(echo|cat|ls|true|test|\\[|:|find|printf|read|head|exec|cd)(\\s|$)'
  - '^cargo(\\s|$)'
  - '^git (-C \\S+ )?(log|status|diff|show|grep|ls-remote|push|x)(\\s|$)'
  - '^(tar|wget|sort)(\\s|$)'
  - '^npm test(\\s|$)'
  - '^bash attacks/[0-9]+\\.sh$'
  - '^perl attacks/[0-9]+\\.pl$'
network:
  allowed_domains:
    - {domain: '127.0.0.1:${ports.granted}', private: true}
${ports.rebind === 0 ? '' : GRANTED_NAMES.map((name) => `    - '${name}:${ports.rebind}'\n`).join('')}paths:
  rules:
    - {path: secrets, read: deny, write: deny}
    - {path: frozen, write: deny}
    - {path: frozenX, write: deny}
    - {path: .envrc, write: deny}
    - {path: 'absent/**', write: deny}
    - {path: current/key, read: deny, write: deny}
    - {path: '**/cur3/key', read: deny, write: deny}
    - {path: conf, write: deny}
    - {path: '**/.env', read: deny, write: deny}
    - {path: '**/*.pem', write: deny}
packs: [packs]
`;

function putGuarded(workspace: Workspace, listeners: Listeners): void {
  workspace.put('haft.yaml', policyOf(listeners));
  workspace.put('haft.lock', '{"version":1,"packs":{},"tools":{}}\n');
  workspace.put('packs/own/a.txt', 'a pack\n');
  workspace.put('secrets/key', `${SENTINEL}\n`);
  workspace.put('frozen/file', 'frozen\n');
  workspace.put('releases/42/key', `${SENTINEL}\n`);
  workspace.put('realconf/file', 'conf\n');
  workspace.put('tools/hooks/pre-push', '#!/bin/sh\n');
  symlinkSync('releases/42', workspace.path('current'));
  symlinkSync('realconf', workspace.path('conf'));
  workspace.put('inner/.haft/haft.db', `${SENTINEL}\n`);
  workspace.put('inner/haft.yaml', 'version: 1\npacks: [tools]\n');
  workspace.put('inner/haft.lock', '{}\n');
  workspace.put('inner/tools/t', 'a tool\n');
  workspace.put('apart/file', 'apart\n');
  execFileSync('git', ['init', '-q', '--separate-git-dir', workspace.path('store'), workspace.path('apart')]);
  mkdirSync(workspace.path('linked'), { recursive: true });
  symlinkSync('../store', workspace.path('linked/.git'));
  for (const folder of ['.', 'nested']) {
    mkdirSync(workspace.path(folder), { recursive: true });
    const git = (...args: string[]) =>
      execFileSync('git', ['-c', 'user.name=A', '-c', 'user.email=a@b.c', ...args], {
        cwd: workspace.path(folder),
        stdio: 'pipe',
      });
    git('init', '-q', '-b', 'main', '.');
    git('commit', '-q', '--allow-empty', '-m', 'first');
  }
  execFileSync('git', ['-C', workspace.root, 'config', 'core.hooksPath', 'tools/hooks']);
}

const STUB = '#!/bin/sh\necho ran > "$(dirname "$0")/pwned"\n';

function putPlain(workspace: Workspace, outside: Workspace): void {
  for (const name of ['evil', 'ls', 'cargo x']) {
    workspace.put(name, STUB);
    chmodSync(workspace.path(name), 0o755);
  }
  workspace.put('plain/file', 'plain\n');
  workspace.put('closed/.env', `${SENTINEL}\n`);
  workspace.put('closed/deep/.env', `${SENTINEL}\n`);
  chmodSync(workspace.path('closed'), 0o000);
  workspace.put('attacks/kit.pl', KIT);
  symlinkSync(outside.root, workspace.path('link-out'));
  symlinkSync(outside.path('secret.txt'), workspace.path('link-secret'));
  symlinkSync(outside.path('docker.sock'), workspace.path('link-sock'));
}

/** `shell_exec` with limits that a test can afford to reach. */
const shellLimited = defineBuiltin<JsonObject & { readonly limits?: JsonObject }, unknown>({
  ...shellExec,
  id: 'shell_limited',
  input: withLimits(shellExec.input),
  effects: ({ limits: _, ...args }, site) => shellExec.effects(args as never, site),
  run({ limits, ...args }, ctx) {
    const exec = { shell: (line: ShellLine) => ctx.exec.shell({ ...line, limits: limits ?? {} }) };
    const limited = { get: (_: ToolContext, key: keyof ToolContext) => (key === 'exec' ? exec : ctx[key]) };
    return shellExec.run(args as never, new Proxy(ctx, limited as ProxyHandler<ToolContext>));
  },
});

function withLimits(schema: JsonSchema): JsonSchema {
  const whole = schema as { readonly properties: JsonObject };
  return { ...whole, properties: { ...whole.properties, limits: { type: 'object' } } };
}

/** Also folders that an attack made and that nobody may enter. */
function remove(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true });
  } catch {
    execFileSync('chmod', ['-R', 'u+rwX', path]);
    rmSync(path, { recursive: true });
  }
}

const ownAddresses = (): string[] =>
  Object.values(networkInterfaces()).flatMap((all) =>
    (all ?? []).filter((one) => one.family === 'IPv4').map((one) => one.address),
  );

/** `{closed}` and the like, wherever they stand. */
function filled(value: Json, values: Readonly<Record<string, string>>): Json {
  if (typeof value === 'string') return value.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
  if (Array.isArray(value)) return value.map((one) => filled(one as Json, values));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, filled(one as Json, values)]));
}
