// Owns: the routes of those who call tools: which there are, and the one call.
// Refuses: to change which there are; that is what the other token is for.
import { readPlacement } from '../../../contract/backend.ts';
import { fromToolRequest, toToolResponse } from '../../../contract/envelope.ts';
import { ERRORS, fail } from '../../../contract/errors.ts';
import { listingToWire, toWire } from '../../../contract/spelling.ts';
import { findListing } from '../../../runtime/find-listing.ts';
import type { Route } from '../route.ts';
import { operate } from './operations.ts';

const USUAL_LIMIT = 10;

export const TOOL_ROUTES: readonly Route[] = [
  {
    method: 'GET',
    path: '/healthz',
    token: 'none',
    about: '`{"ok":true,"version":"…"}` once the server takes requests',
    answer: (_, { version }) => ({ ok: true, version }),
  },
  {
    method: 'GET',
    path: '/v1/tools',
    token: 'calls',
    about:
      'every installed tool: contract, schemas, `enabled`, for a disabled one the lines that would admit it, or why none would, for a quarantined one why; and the `packs` they are of, each with its `status` and, where it is not there, why',
    async answer(_, { runtime }) {
      await runtime.installations.settle();
      return { tools: runtime.tools().map(listingToWire), packs: runtime.packs().map(toWire) };
    },
  },
  {
    method: 'GET',
    path: '/v1/tools/:id',
    token: 'calls',
    about: 'one of them',
    answer: async ({ params }, { runtime }) => listingToWire(await findListing(runtime, params.id!)),
  },
  {
    method: 'GET',
    path: '/v1/search',
    token: 'calls',
    about: 'tools by what they do, the best first: `id`, `title`, `origin`, `enabled`, `score`',
    query: {
      type: 'object',
      properties: {
        query: { type: 'string', minLength: 1, maxLength: 1000, description: 'words' },
        limit: {
          type: 'string',
          pattern: '^[1-9][0-9]{0,2}$',
          description: 'the most to answer; 10 by default',
        },
      },
      required: ['query'],
      additionalProperties: false,
    },
    answer: (asked, site) => {
      const { query, limit = USUAL_LIMIT } = asked.query;
      return operate('tools.search', { words: [query], limit: Number(limit) }, asked, site);
    },
  },
  {
    method: 'POST',
    path: '/v1/call',
    token: 'calls',
    about: 'takes a ToolRequest, answers a ToolResponse',
    query: {
      type: 'object',
      properties: {
        backend: {
          type: 'string',
          minLength: 1,
          maxLength: 100,
          description: 'where a run is executed, among what policy grants',
        },
        place: {
          type: 'string',
          minLength: 1,
          maxLength: 1000,
          description:
            'partition, account, qos or gres of its Slurm job as KEY=VALUE,…, among what policy lists',
        },
      },
      additionalProperties: false,
    },
    async answer({ body, query: { backend, place }, signal, status }, { runtime }) {
      const call = fromToolRequest(body);
      if (typeof call === 'string') throw fail('input.envelope', `Cannot make the call: ${call}`);
      const response = await runtime.call(call, {
        signal: signal(),
        ...(backend === undefined ? {} : { backend }),
        ...(place === undefined ? {} : { placement: readPlacement(place) }),
      });
      const [error] = response.errors;
      if (error) status(ERRORS[error.reason].http);
      return toToolResponse(response);
    },
  },
];
