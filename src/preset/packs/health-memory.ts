// Owns: where hosts of one workspace leave to each other what they saw of the health of packs.
// Refuses: what was seen under another config.
import type { HealthSubject } from '../../contract/health.ts';
import { readOwnCache, writeOwnCache } from '../../loader/own-cache.ts';
import type { HealthMemory, Remembered } from '../../runtime/health/create-health-monitor.ts';

const FORMAT = 1;

export function createHealthMemory(root: string): HealthMemory {
  const folder = `${root}/.haft/cache/health`;
  const keyOf = ({ name, identity }: HealthSubject) => `${name}-${identity.replaceAll(/[^a-z0-9]/g, '-')}`;
  return {
    recall: (subject) => readOwnCache<Remembered>(folder, keyOf(subject), FORMAT),
    keep: (subject, seen) => writeOwnCache(folder, keyOf(subject), FORMAT, seen),
  };
}
