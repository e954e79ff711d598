// Owns: the table of how a tool is tried again, and how its health is found out.
// Refuses: doing either.
import type { MapShape } from '../../contract/shape.ts';
import { LONGEST_MS, list, number, text } from './shape-words.ts';

export const retry: MapShape = {
  is: 'map',
  doc: 'Failed calls are sent again, after a jittered delay: idempotent ones, also where a program ended and said that it failed, and those that provably did not leave.',
  required: ['attempts'],
  keys: {
    attempts: number('How often it is sent at most, the first time included.', 1, 10, {
      code: 'retry.invalid',
    }),
    delayMs: number('Milliseconds before the second attempt.', 0, 600_000, {
      code: 'retry.invalid',
      default: '200',
    }),
    maxDelayMs: number('The longest delay.', 0, 600_000, { code: 'retry.invalid', default: '10000' }),
    factor: number('By how much the delay grows each time.', 1, 10, {
      code: 'retry.invalid',
      fraction: true,
      default: '2',
    }),
    onStatus: list(
      number('A status.', 400, 599, { code: 'retry.invalid' }),
      'Of http tools: answers that count as failed.',
      {
        default: '429, 502, 503, 504',
      },
    ),
  },
};

export const health: MapShape = {
  is: 'map',
  doc: 'How to find out whether it works before somebody calls it.',
  required: ['strategy'],
  keys: {
    strategy: {
      is: 'choice',
      of: ['process', 'connection', 'endpoint', 'ping'],
      code: 'health.strategy',
      doc: '`process`: its program starts. `connection`: its host accepts one. `endpoint`: `url` answers below 400. `ping`: a call with `input` succeeds.',
    },
    intervalMs: number('Milliseconds between two looks.', 1000, LONGEST_MS, {
      code: 'health.invalid',
      default: '30000',
    }),
    timeoutMs: number('Milliseconds that a look may take.', 1, 600_000, {
      code: 'health.invalid',
      default: '5000',
    }),
    failureThreshold: number('So many failures in a row make it unhealthy.', 1, 100, {
      code: 'health.invalid',
      default: '3',
    }),
    successThreshold: number('So many successes in a row make it ready again.', 1, 100, {
      code: 'health.invalid',
      default: '1',
    }),
    url: text('url', 'Of `endpoint`: what is asked.', { code: 'health.invalid' }),
    input: { is: 'open', code: 'health.invalid', doc: 'Of `ping`: what it is called with.' },
  },
};
