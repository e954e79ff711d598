// Owns: what went wrong on the wire, in the words of the error table.
// Refuses: paths, queries and bodies in messages: they may hold secrets.
import { type Failure, fail, isFailure } from '../../contract/errors.ts';
import type { HttpTarget } from '../../contract/http.ts';

export const placeOf = ({ scheme, host, port }: HttpTarget): string => `${scheme}://${host}:${port}`;

/** `sent`: the request may have left. `repeatable`: sending it again would do no harm. */
export interface FailedRequest {
  readonly target: HttpTarget;
  readonly sent: boolean;
  readonly repeatable: boolean;
}

export function toHttpFailure(error: Error, { target, sent, repeatable }: FailedRequest): Failure {
  if (isFailure(error)) return error;
  const cause = (error as { code?: unknown }).code;
  const code =
    typeof cause === 'string' ? cause : error.name === 'HTTPParserError' ? 'HPE_INVALID' : 'unknown';
  const details = { host: target.host, port: target.port, cause: code };
  const cannot = `Cannot request ${placeOf(target)}`;
  const late = TIMEOUTS[code];
  if (late) return fail('time.deadline', `${cannot}: ${late}`, { ...details, sent });
  const fact = `${cannot}: ${FACTS[code] ?? factOf(code)}`;
  if (sent && !repeatable)
    return fail('call.outcome_unknown', `${fact}, after the request had left`, details);
  return fail('http.failed', fact, details);
}

function factOf(code: string): string {
  if (code.startsWith('HPE_')) return 'its answer is not HTTP';
  if (code.startsWith('Z_') || code.startsWith('ERR_BROTLI') || code.startsWith('ZSTD_'))
    return 'its body is not in the encoding that it names';
  if (/CERT|SIGNATURE|CRL|^ERR_(TLS|SSL)|^EPROTO$/.test(code))
    return 'its certificate or its TLS is not valid';
  return 'the connection failed';
}

const TIMEOUTS: { readonly [code: string]: string } = {
  HAFT_CONNECT_TIMEOUT: 'connecting took too long',
  UND_ERR_CONNECT_TIMEOUT: 'connecting took too long',
  ETIMEDOUT: 'connecting took too long',
  UND_ERR_HEADERS_TIMEOUT: 'the answer took too long to begin',
  UND_ERR_BODY_TIMEOUT: 'the answer stopped in the middle',
};

const FACTS: { readonly [code: string]: string } = {
  ENOTFOUND: 'its name cannot be resolved',
  EAI_AGAIN: 'its name cannot be resolved at the moment',
  ENODATA: 'its name has no address',
  ECONNREFUSED: 'it refuses connections',
  ECONNRESET: 'the connection was lost',
  EPIPE: 'the connection was lost',
  UND_ERR_SOCKET: 'the connection was lost',
  EHOSTUNREACH: 'it cannot be reached',
  ENETUNREACH: 'it cannot be reached',
  HAFT_AMBIGUOUS: 'its answer is not HTTP that all read alike',
  UND_ERR_DESTROYED: 'the client was closed',
  HAFT_OTHER_ADDRESS: 'the connection led to another address than the one that was checked',
  UND_ERR_HEADERS_OVERFLOW: 'its headers are too large',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'its body is not as long as it says',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another host',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is signed by nobody that is trusted',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate is signed by nobody that is trusted',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate is signed by nobody that is trusted',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'its certificate is signed by nobody that is trusted',
};
