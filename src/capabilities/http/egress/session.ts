// Owns: what is known of one connection through the proxy, told once when it has ended.
// Refuses: to keep it afterwards.
import type {
  EgressConnection,
  EgressOutcome,
  EgressProxyOptions,
  HttpTarget,
} from '../../../contract/http.ts';

export interface EgressSession {
  target: HttpTarget;
  address: string | undefined;
  bytesUp: number;
  bytesDown: number;
  /** The first one counts. */
  end(outcome: EgressOutcome, message?: string, admit?: string): void;
}

const NOWHERE: HttpTarget = { scheme: '', host: '', port: 0 };

export function startSession(record: EgressProxyOptions['record']): EgressSession {
  const startedMs = Date.now();
  const started = performance.now();
  let ended = false;
  const session: EgressSession = {
    target: NOWHERE,
    address: undefined,
    bytesUp: 0,
    bytesDown: 0,
    end(outcome, message, admit) {
      if (ended) return;
      ended = true;
      const { target, address, bytesUp, bytesDown } = session;
      const connection: EgressConnection = {
        ...target,
        ...(address === undefined ? {} : { address }),
        outcome,
        ...(message === undefined ? {} : { message }),
        ...(admit === undefined ? {} : { admit }),
        bytesUp,
        bytesDown,
        startedMs,
        durationMs: performance.now() - started,
      };
      record?.(connection);
    },
  };
  return session;
}
