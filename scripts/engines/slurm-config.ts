// Owns: the configuration files of a private Slurm cluster of two nodes on this machine.
// Refuses: to start anything, and every port and path that a Slurm of this machine's own would use.
import { existsSync } from 'node:fs';
import { join } from 'node:path';

export interface ClusterShape {
  readonly folder: string;
  readonly hostname: string;
  readonly nodes: readonly [string, string];
  readonly ports: Readonly<Record<'slurmctld' | 'slurmd1' | 'slurmd2' | 'slurmdbd' | 'mariadb', number>>;
  readonly accounting: boolean;
  /** Lines of slurm.conf that differ from the ones here. */
  readonly settings: Readonly<Record<string, string>>;
}

/**
 * More processors than there are: jobs of tests sleep, and waiting for a free one would be all that they do. A job that
 * asks for more memory than a node has is refused, and one that uses more than it asked for is killed.
 */
export function slurmConf({ folder, hostname, nodes, ports, accounting, settings }: ClusterShape): string {
  const lines: Record<string, string> = {
    ClusterName: 'haft',
    SlurmctldHost: `${hostname}(127.0.0.1)`,
    SlurmctldPort: String(ports.slurmctld),
    SlurmUser: 'root',
    SlurmdUser: 'root',
    AuthType: 'auth/munge',
    AuthInfo: `socket=${join(folder, 'run/munge.sock')}`,
    StateSaveLocation: join(folder, 'state'),
    SlurmdSpoolDir: join(folder, 'spool/%n'),
    SlurmctldPidFile: join(folder, 'run/slurmctld.pid'),
    SlurmdPidFile: join(folder, 'run/slurmd.%n.pid'),
    SlurmctldLogFile: join(folder, 'log/slurmctld.log'),
    SlurmdLogFile: join(folder, 'log/slurmd.%n.log'),
    SlurmdParameters: 'config_overrides',
    ProctrackType: 'proctrack/cgroup',
    TaskPlugin: 'task/cgroup',
    SelectType: 'select/cons_tres',
    SelectTypeParameters: 'CR_CPU_Memory',
    PreemptType: 'preempt/partition_prio',
    PreemptMode: 'REQUEUE',
    JobAcctGatherType: 'jobacct_gather/none',
    AccountingStorageType: 'accounting_storage/none',
    MpiDefault: 'none',
    ReturnToService: '2',
    KillWait: '2',
    MinJobAge: '300',
    MaxJobCount: '20000',
    SchedulerParameters: 'batch_sched_delay=0,sched_interval=2,bf_interval=2,sched_min_interval=0',
    ...(accounting && {
      AccountingStorageType: 'accounting_storage/slurmdbd',
      AccountingStorageHost: '127.0.0.1',
      AccountingStoragePort: String(ports.slurmdbd),
      AccountingStoragePass: join(folder, 'run/munge.sock'),
    }),
    ...settings,
  };
  const node = (name: string, port: number) =>
    `NodeName=${name} NodeHostname=${hostname} NodeAddr=127.0.0.1 Port=${port} CPUs=16 RealMemory=4000 State=UNKNOWN`;
  return [
    ...Object.entries(lines).map(([key, value]) => `${key}=${value}`),
    node(nodes[0], ports.slurmd1),
    node(nodes[1], ports.slurmd2),
    'PartitionName=main Nodes=ALL Default=YES State=UP PriorityTier=10',
    `PartitionName=spot Nodes=${nodes[1]} State=UP PriorityTier=1 PreemptMode=CANCEL`,
    `PartitionName=urgent Nodes=${nodes[1]} State=UP PriorityTier=100`,
    // Takes jobs and starts none.
    'PartitionName=closed Nodes=ALL State=DOWN',
    '',
  ].join('\n');
}

export function cgroupConf(): string {
  const version = existsSync('/sys/fs/cgroup/memory')
    ? ['CgroupPlugin=cgroup/v1']
    : ['CgroupPlugin=cgroup/v2', 'IgnoreSystemd=yes'];
  return [...version, 'CgroupAutomount=no', 'ConstrainRAMSpace=yes', 'ConstrainCores=no', ''].join('\n');
}

export function slurmdbdConf({ folder, hostname, ports }: ClusterShape): string {
  return [
    'AuthType=auth/munge',
    `AuthInfo=socket=${join(folder, 'run/munge.sock')}`,
    `DbdHost=${hostname}`,
    'DbdAddr=127.0.0.1',
    `DbdPort=${ports.slurmdbd}`,
    'SlurmUser=root',
    `LogFile=${join(folder, 'log/slurmdbd.log')}`,
    `PidFile=${join(folder, 'run/slurmdbd.pid')}`,
    'StorageType=accounting_storage/mysql',
    'StorageHost=127.0.0.1',
    `StoragePort=${ports.mariadb}`,
    'StorageUser=slurm',
    'StoragePass=slurm',
    'StorageLoc=slurm_acct_db',
    '',
  ].join('\n');
}
