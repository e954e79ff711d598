// Owns: the flags that say where a run is executed, and what they mean for a call.
// Refuses: to know what policy grants.
import type { Placement } from '../../contract/backend.ts';
import { fail } from '../../contract/errors.ts';
import type { CallOptions } from '../../contract/runtime.ts';
import type { Command, Invocation } from './command.ts';

export const BACKEND_FLAG = {
  backend: { type: 'string', value: 'NAME', help: 'where a run is executed, among what policy grants' },
} as const satisfies Command['options'];

export const PLACE_FLAG = {
  place: {
    type: 'string',
    value: 'KEY=VALUE,…',
    help: 'partition, account, qos or gres of its Slurm job, among what policy lists',
  },
} as const satisfies Command['options'];

export function runPlace({
  backend,
  place,
}: Invocation['flags']): Pick<CallOptions, 'backend' | 'placement'> {
  return {
    ...(typeof backend === 'string' ? { backend } : {}),
    ...(typeof place === 'string' ? { placement: parsePlace(place) } : {}),
  };
}

const KEYS: readonly string[] = ['partition', 'account', 'qos', 'gres'] satisfies (keyof Placement)[];

/** `partition=long,qos=high` */
function parsePlace(text: string): Placement {
  const pairs = text.split(',').map((pair) => {
    const [, key = '', value = ''] = /^(\w+)=(.+)$/.exec(pair) ?? [];
    if (!KEYS.includes(key))
      throw fail(
        'usage',
        `Cannot place the run: --place takes ${KEYS.join(', ')} with a value, not "${pair}"`,
      );
    return [key, value];
  });
  return Object.fromEntries(pairs);
}
