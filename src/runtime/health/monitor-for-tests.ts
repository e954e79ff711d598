// Owns: for tests of health, a monitor over time that passes when it is told to, and one side for it to watch.
// Refuses: to wait for anything real.
import type { EventMessage } from '../../contract/envelope.ts';
import { type HealthPlan, type HealthSubject, USUAL_HEALTH } from '../../contract/health.ts';
import type { HealthReport } from '../../contract/manifest.ts';
import { createEventBus } from '../record.ts';
import { createHealthMonitor, type HealthMemory, type HealthTiming } from './create-health-monitor.ts';

export const NEVER = new AbortController().signal;
export const PLAN: HealthPlan = { ...USUAL_HEALTH, intervalMs: 1000, timeoutMs: 100, failureThreshold: 2 };

interface Side {
  looks: number;
  answer: (signal: AbortSignal) => Promise<HealthReport>;
  subject(plan?: Partial<HealthPlan>): HealthSubject;
}

export function monitorBench({
  random = () => 0.5,
  ...parts
}: {
  readonly random?: () => number;
  readonly memory?: HealthMemory;
} = {}) {
  const timing = manualTiming(random);
  const bus = createEventBus();
  const events: EventMessage[] = [];
  bus.subscribe((event) => events.push(event));
  const side: Side = {
    looks: 0,
    answer: async () => ({ status: 'ready', checkedTs: null }),
    subject: (plan = {}) => ({
      name: 'side',
      identity: '1',
      enabled: true,
      plan: { ...PLAN, ...plan },
      ways: {
        connection: () => ({
          health(signal) {
            side.looks++;
            return side.answer(signal);
          },
        }),
      },
    }),
  };
  return { timing, events, side, monitor: createHealthMonitor({ timing, events: bus, ...parts }) };
}

interface ManualTiming extends HealthTiming {
  readonly pending: number;
  run(ms: number): Promise<void>;
}

/** Time that passes when it is told to; everything that became due has run, and settled, when `run` answers. */
function manualTiming(random: () => number): ManualTiming {
  const timers = new Set<{ readonly at: number; readonly run: () => void }>();
  let time = 0;
  return {
    now: () => 5000,
    monotonic: () => time,
    random,
    after(ms, run) {
      const timer = { at: time + ms, run };
      timers.add(timer);
      return () => timers.delete(timer);
    },
    get pending() {
      return timers.size;
    },
    async run(ms) {
      const end = time + ms;
      for (;;) {
        await new Promise(setImmediate);
        const [due] = [...timers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at);
        if (!due) break;
        timers.delete(due);
        time = due.at;
        due.run();
      }
      time = end;
    },
  };
}
