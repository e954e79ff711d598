// Owns: the routes of a person who answers for calls.
// Refuses: the token that calls are made with.
import type { Asked, DaemonSite, Route } from '../route.ts';
import { operate } from './operations.ts';

export const APPROVAL_ROUTES: readonly Route[] = [
  {
    method: 'GET',
    path: '/v1/approvals',
    token: 'management',
    about: 'calls that wait for a person',
    answer: (asked, site) => operate('approvals.list', { status: 'pending' }, asked, site),
  },
  {
    method: 'GET',
    path: '/v1/approvals/:id',
    token: 'management',
    about: 'one of them: arguments without secrets, the diff of files, who answered',
    answer: (asked, site) => one('approvals.show', asked, site),
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
    answer(asked, site) {
      const { decision } = asked.body as { readonly decision: 'granted' | 'refused' };
      return one(decision === 'granted' ? 'approvals.grant' : 'approvals.refuse', asked, site);
    },
  },
];

async function one(id: string, asked: Asked, site: DaemonSite): Promise<unknown> {
  const answer = await operate(id, { approval: asked.params.id }, asked, site);
  return (answer as { readonly approval: unknown }).approval;
}
