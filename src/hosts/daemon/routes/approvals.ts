// Owns: the routes of a person who answers for calls.
// Refuses: the token that calls are made with.
import { approvalToWire } from '../../../contract/spelling.ts';
import type { Route } from '../route.ts';

export const APPROVAL_ROUTES: readonly Route[] = [
  {
    method: 'GET',
    path: '/v1/approvals',
    token: 'management',
    about: 'calls that wait for a person',
    answer: async (_, { runtime }) => ({
      approvals: (await runtime.approvals.list('pending')).map(approvalToWire),
    }),
  },
  {
    method: 'GET',
    path: '/v1/approvals/:id',
    token: 'management',
    about: 'one of them: arguments without secrets, the diff of files, who answered',
    answer: async ({ params }, { runtime }) => approvalToWire(await runtime.approvals.show(params.id!)),
  },
  {
    method: 'POST',
    path: '/v1/approvals/:id',
    token: 'management',
    about: 'the approval, answered',
    body: {
      type: 'object',
      properties: { decision: { enum: ['granted', 'refused'], description: 'what the person says' } },
      required: ['decision'],
      additionalProperties: false,
    },
    async answer({ params, body }, { runtime }) {
      const { decision } = body as { readonly decision: 'granted' | 'refused' };
      return approvalToWire(await runtime.approvals.decide(params.id!, decision, 'http'));
    },
  },
];
