// Owns: the flags that say where a run is executed, and what they mean for a call.
// Refuses: to know what policy grants.
import { readPlacement } from '../../contract/backend.ts';
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
    ...(typeof place === 'string' ? { placement: readPlacement(place) } : {}),
  };
}
