// Owns: from a target that a program asked for to an open connection (allowed, resolved, checked, dialled), and what is known of it,
// told once when it has ended.
// Refuses: to go on where any of these says no; the program is told which.
import type { Socket } from 'node:net';
import { isFailure } from '../../../contract/errors.ts';
import type {
  EgressConnection,
  EgressOutcome,
  EgressProxyOptions,
  HttpTarget,
} from '../../../contract/http.ts';
import { checkPlace, dial, type ResolveHost } from '../dial.ts';
import { placeOf } from '../failures.ts';

export interface WayOutSite {
  readonly allow: EgressProxyOptions['allow'];
  readonly resolve: ResolveHost;
  readonly connectTimeoutMs: number;
  /** Answers instead of going on, and hangs up. */
  refuse(client: Socket, session: EgressSession, refusal: Refusal): void;
  /** Ends the connection with the others when the proxy closes. */
  track(socket: Socket): void;
}

export interface Refusal {
  readonly status: 400 | 403 | 502 | 503 | 504;
  readonly outcome: EgressOutcome;
  readonly message: string;
  /** The haft.yaml lines that would lift it. */
  readonly admit?: string | undefined;
}

/** A connection that has not sent anything, for a program that still waits. Undefined: it was refused, or it left. */
export async function openWayOut(
  site: WayOutSite,
  client: Socket,
  target: HttpTarget,
  session: EgressSession,
): Promise<Socket | undefined> {
  const found = await findWayOut(site, target, session);
  if (isRefusal(found)) {
    site.refuse(client, session, found);
    return undefined;
  }
  site.track(found);
  if (!client.destroyed) return found;
  found.destroy();
  session.end('failed', 'the program left');
  return undefined;
}

async function findWayOut(
  way: Pick<WayOutSite, 'allow' | 'resolve' | 'connectTimeoutMs'>,
  target: HttpTarget,
  session: EgressSession,
): Promise<Socket | Refusal> {
  session.target = target;
  const denied = (message: string, admit?: unknown): Refusal => ({
    status: 403,
    outcome: 'denied',
    message,
    admit: typeof admit === 'string' ? admit : undefined,
  });
  let mayBePrivate = false;
  try {
    const decision = way.allow(target);
    if (!decision.allow) {
      return denied(
        decision.message ?? `Cannot connect ${placeOf(target)}: it is not on the domain allowlist`,
        decision.admit,
      );
    }
    mayBePrivate = decision.private ?? false;
  } catch (thrown) {
    return denied(
      isFailure(thrown) ? thrown.message : `Cannot connect ${placeOf(target)}: policy could not decide`,
    );
  }
  try {
    const { addresses } = checkPlace(target, await way.resolve(target.host), mayBePrivate);
    return await new Promise((resolve) => {
      dial(
        { host: target.host, port: target.port, secure: false, addresses, timeoutMs: way.connectTimeoutMs },
        (error, socket, dialled) => {
          session.address = dialled?.address;
          resolve(error ? unreachable(target, error) : socket);
        },
      );
    });
  } catch (thrown) {
    if (isFailure(thrown) && thrown.reason === 'http.address')
      return denied(thrown.message, thrown.details?.admit);
    return unreachable(target, thrown as Error);
  }
}

function unreachable(target: HttpTarget, error: Error): Refusal {
  const code = (error as { code?: string }).code ?? 'unknown';
  const late = code === 'HAFT_CONNECT_TIMEOUT' || code === 'ETIMEDOUT';
  const message = `Cannot connect ${placeOf(target)}: ${isFailure(error) ? 'it cannot be reached' : code}`;
  return { status: late ? 504 : 502, outcome: 'failed', message };
}

const isRefusal = (found: Socket | Refusal): found is Refusal => 'outcome' in found;

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
