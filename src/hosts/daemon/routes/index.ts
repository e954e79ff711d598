// Owns: the list of routes of the HTTP door.
// Refuses: anything else; the reference is made from it.
import type { Route } from '../route.ts';
import { APPROVAL_ROUTES } from './approvals.ts';
import { INSTALLATION_ROUTES } from './installations.ts';
import { OPERATION_ROUTES } from './operations.ts';
import { TOOL_ROUTES } from './tools.ts';

export const ROUTES: readonly Route[] = [
  ...TOOL_ROUTES,
  ...APPROVAL_ROUTES,
  ...INSTALLATION_ROUTES,
  ...OPERATION_ROUTES,
];
