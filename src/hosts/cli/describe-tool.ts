// Owns: what a person is told of tools that cannot be used as things are.
// Refuses: to decide that; the listing says.
import type { PackState, ToolListing } from '../../contract/runtime.ts';
import { describeAdmit } from '../../contract/terminal-text.ts';

/** Text for standard error; none for tools that can be used. What several need alike is said once. */
export function whyDisabled(listings: readonly ToolListing[]): string {
  const lines: string[] = [];
  const byAdmit = Map.groupBy(
    listings.filter(({ enabled, admit }) => !enabled && admit !== undefined),
    ({ admit }) => admit as string,
  );
  for (const { contract, enabled, admit, denied, quarantined, lacks } of listings) {
    if (enabled) continue;
    if (quarantined) lines.push(quarantined);
    const alike = byAdmit.get(admit ?? '')?.map((one) => one.contract.id) ?? [];
    if (admit && alike[0] === contract.id)
      lines.push(`${alike.join(', ')} ${alike.length > 1 ? 'are' : 'is'} disabled`, describeAdmit(admit));
    if (denied) lines.push(`${contract.id} is disabled: ${denied}`);
    if (lacks) {
      lines.push(`${contract.id} is disabled: it needs a credential that nobody has set`);
      lines.push(...lacks.map((line) => `  ${line}`));
    }
  }
  return lines.map((line) => `${line}\n`).join('');
}

/** The same for packs: those that are not there, and what is wrong with what they say. */
export function whyDown(packs: readonly PackState[]): string {
  return packs
    .flatMap(({ name, status, message = '', problems = [] }) => [
      ...(status === 'unhealthy'
        ? [`${name} is unhealthy: ${message} ("haft tools logs ${name}" says more)`]
        : []),
      ...problems,
    ])
    .map((line) => `${line}\n`)
    .join('');
}
