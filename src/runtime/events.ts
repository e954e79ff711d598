// Owns: the event bus of one runtime.
// Refuses: to let a listener's mistake reach a call.
import type { EventBus, EventListener } from '../contract/runtime.ts';

export function createEventBus(): EventBus {
  const listeners = new Set<EventListener>();
  return {
    emit(event) {
      for (const listener of listeners) {
        try {
          listener(event);
        } catch {
          listeners.delete(listener);
        }
      }
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
