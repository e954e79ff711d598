// Owns: what a person is told of a tool that cannot be used as things are.
// Refuses: to decide that; the listing says.
import type { ToolListing } from '../../contract/runtime.ts';
import { describeAdmit } from './output.ts';

/** Lines for standard error; none for a tool that can be used. */
export function whyDisabled({ contract, enabled, admit, quarantined, lacks }: ToolListing): string {
  if (enabled) return '';
  const lines = [
    ...(quarantined ? [quarantined] : []),
    ...(admit ? [`${contract.id} is disabled`, describeAdmit(admit)] : []),
    ...(lacks
      ? [
          `${contract.id} is disabled: it needs a credential that nobody has set`,
          ...lacks.map((line) => `  ${line}`),
        ]
      : []),
  ];
  return lines.map((line) => `${line}\n`).join('');
}
