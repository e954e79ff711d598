// Owns: a model on loopback that does as it is told: it calls one tool after the other, then says that it is done.
// Refuses: to make anything up: it calls only tools that the client offered, and keeps what came back.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { DIALECTS, type Offer, type Turn } from './model-dialects.ts';

/** A call of one of Haft's tools, by the name that Haft gives it. */
export interface Step {
  readonly tool: string;
  readonly args: Readonly<Record<string, string>>;
}

export interface ModelServer {
  readonly port: number;
  /** Names of Haft's tools that were offered, as the client spells them. */
  readonly offered: readonly string[];
  /** What the client sent back for each call, as text. */
  readonly results: readonly string[];
  /** Requests that nobody understood. */
  readonly unknown: readonly string[];
  close(): Promise<void>;
}

export async function startModel(steps: readonly Step[]): Promise<ModelServer> {
  let offered: readonly string[] = [];
  let results: readonly string[] = [];
  const unknown: string[] = [];

  /** A request without tools is for a title or a summary, and takes no step. */
  const next = (offers: readonly Offer[], answers: readonly string[]): Turn => {
    const ours = offers.filter(({ name, namespace = '' }) => /(^|_)haft_/.test(`${namespace}_${name}`));
    if (ours.length === 0) return { text: 'Nothing to do.' };
    offered = ours.map(({ name, namespace }) => [namespace, name].filter(Boolean).join('/'));
    if (answers.length >= results.length) results = answers;
    const step = steps[answers.length];
    if (!step) return { text: 'Done.' };
    const offer = ours.find(({ name }) => name === step.tool || name.endsWith(`_${step.tool}`));
    if (!offer) return { text: `There is no ${step.tool}.` };
    if (offer.by)
      return { offer: { name: offer.by }, args: { query: `select:${offer.name}`, max_results: 1 } };
    return { offer, args: step.args };
  };

  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://model');
    const dialect = DIALECTS.find(({ path }) => path.test(pathname));
    if (request.method !== 'POST' || !dialect) {
      unknown.push(`${request.method} ${pathname}`);
      response.writeHead(404, JSON_TYPE).end('{"error":{"type":"not_found_error","message":"not here"}}');
      return;
    }
    const body = JSON.parse(text);
    const turn = next(dialect.offers(body), dialect.results(body));
    const streams = body.stream === true || pathname.includes('stream') || searchParams.get('alt') === 'sse';
    const { events, whole } = dialect.reply(turn, body.model ?? 'scripted');
    if (!streams) response.writeHead(200, JSON_TYPE).end(JSON.stringify(whole));
    else response.writeHead(200, { 'content-type': 'text/event-stream' }).end(events.map(asEvent).join(''));
  };
  const server = createServer((request, response) => {
    answer(request, response).catch((error) => {
      unknown.push(`${request.url}: ${error}`);
      response.destroy();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    unknown,
    get offered() {
      return offered;
    },
    get results() {
      return results;
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

const JSON_TYPE = { 'content-type': 'application/json' };

/** Events of some dialects have their type as a name as well. */
function asEvent(event: unknown): string {
  const name = (event as { readonly type?: string }).type;
  const data = typeof event === 'string' ? event : JSON.stringify(event);
  return `${name ? `event: ${name}\n` : ''}data: ${data}\n\n`;
}
