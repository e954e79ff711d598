// Owns: the logs of the servers of a host, one for each, without the secrets that it was started with.
// Refuses: to write them; see loader/pack-log.ts.
import { type LogFor, secretsOf } from '../../adapters/line-program.ts';
import type { Credentials } from '../../contract/credentials.ts';
import { openPackLog, type PackLog } from '../../loader/pack-log.ts';
import { serverNeeds } from './server-needs.ts';

export interface ServerLogs {
  readonly logFor: LogFor;
  flush(): Promise<void>;
}

export function createServerLogs(folder: string, credentials: Credentials): ServerLogs {
  const logs = new Map<string, PackLog>();
  return {
    logFor({ name, config }, env) {
      const needs = serverNeeds(config);
      const redact = async (text: string): Promise<string> => {
        const { createRedactor } = await import('../../base/redact/create-redactor.ts');
        const own = createRedactor({ secrets: secretsOf(env) }).text(text);
        // Where they cannot be had any more, nothing is kept: see pack-log.ts.
        return needs.length === 0 ? own : (await credentials.resolve(needs, '')).redactor.text(own);
      };
      const log = openPackLog({ folder, name, redact });
      // Of one that was started before, what it said is still to be written, with the secrets of then.
      void logs.get(name)?.flush();
      logs.set(name, log);
      return log;
    },
    async flush() {
      await Promise.all([...logs.values()].map((log) => log.flush()));
    },
  };
}
