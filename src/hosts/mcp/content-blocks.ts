// Owns: the blocks of an upstream server's answer as an MCP client gets them: as they came, where clients can read them.
// Refuses: what is no block of MCP: clients refuse a whole result for one; it is shown as text, so that nothing is lost.

import { isRecord } from '../../base/is-record.ts';
import type { JsonObject } from '../../contract/json.ts';

/** The JSON text of the blocks, without the brackets around them. */
export const contentBlocks = (blocks: readonly JsonObject[]): string =>
  blocks
    .map((block) => JSON.stringify(isBlock(block) ? block : { type: 'text', text: JSON.stringify(block) }))
    .join(',');

const KINDS: { readonly [type: string]: (block: JsonObject) => boolean } = {
  text: ({ text }) => typeof text === 'string',
  image: ({ data, mimeType }) => typeof data === 'string' && typeof mimeType === 'string',
  audio: ({ data, mimeType }) => typeof data === 'string' && typeof mimeType === 'string',
  resource: ({ resource }) =>
    isRecord(resource) &&
    typeof resource.uri === 'string' &&
    (typeof resource.text === 'string' || typeof resource.blob === 'string'),
  resource_link: ({ uri, name }) => typeof uri === 'string' && typeof name === 'string',
};

function isBlock(block: JsonObject): boolean {
  const { type } = block;
  return typeof type === 'string' && Object.hasOwn(KINDS, type) && KINDS[type]!(block);
}
