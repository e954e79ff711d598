// Owns: how the runtime tells listeners what happens while it happens.
// Refuses: delivery guarantees; what must not be lost is in the audit.
import type { EventMessage } from './envelope.ts';

export type EventListener = (event: EventMessage) => void;

export interface EventBus {
  emit(event: EventMessage): void;
  /** Answers with the function that ends the subscription. A listener that throws is dropped, not propagated. */
  subscribe(listener: EventListener): () => void;
}
