// Owns: the accounting of a private Slurm cluster: a MariaDB of its own, and slurmdbd on it.
// Refuses: a database that is already on this machine; this one listens on its own port below its own folder.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { isRunning, startDaemon, until } from './private-daemon.ts';
import type { ClusterShape } from './slurm-config.ts';

export async function startAccounting(
  { folder, ports }: ClusterShape,
  env: Readonly<Record<string, string>>,
): Promise<void> {
  const data = join(folder, 'mariadb');
  const socket = join(folder, 'run/mariadb.sock');
  const bare = ['--no-defaults', `--datadir=${data}`, '--user=root'];
  if (!existsSync(join(data, 'mysql'))) {
    mkdirSync(data, { recursive: true });
    ran('mariadb-install-db', [...bare, '--skip-test-db', '--auth-root-authentication-method=normal']);
  }
  startDaemon(folder, {
    name: 'mariadb',
    command: [
      '/usr/sbin/mariadbd',
      ...bare,
      `--socket=${socket}`,
      `--pid-file=${join(folder, 'run/mariadb.pid')}`,
      `--port=${ports.mariadb}`,
      '--bind-address=127.0.0.1',
      '--innodb-buffer-pool-size=64M',
      '--innodb-lock-wait-timeout=900',
      '--innodb-flush-log-at-trx-commit=0',
    ],
    env,
  });
  const ask = (sql: string) =>
    spawnSync('mariadb', ['--no-defaults', `--socket=${socket}`, '-e', sql], { encoding: 'utf8' });
  await ready('mariadb', () => ask('select 1').status === 0);
  ask(
    "create user if not exists slurm@127.0.0.1 identified by 'slurm'; grant all on *.* to slurm@127.0.0.1;",
  );
  startDaemon(folder, { name: 'slurmdbd', command: ['/usr/sbin/slurmdbd', '-D'], env });
  await ready('slurmdbd', () => spawnSync('sacctmgr', ['-n', 'show', 'cluster'], { env }).status === 0);

  async function ready(name: string, condition: () => boolean): Promise<void> {
    const up = await until(() => {
      if (!isRunning(folder, name)) throw new Error(`${name} ended at once; see log/${name}.out`);
      return condition();
    }, 60_000);
    if (!up) throw new Error(`${name} is not ready after 60 s; see log/${name}.out`);
  }
}

function ran(program: string, args: readonly string[]): void {
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${program} failed: ${stderr || stdout}`);
}
