import { baseline } from './baseline.ts';
import { classifier } from './classifier.ts';
import { encodedHost } from './encoded-host.ts';
import type { SignalEngine } from './engine.ts';
import { externalPrincipal } from './external-principal.ts';
import { lowTrust } from './low-trust.ts';
import { massAction } from './mass-action.ts';
import { mcpDrift } from './mcp-drift.ts';
import { newDestination } from './new-destination.ts';
import { opaqueContent } from './opaque-content.ts';
import { ordersRead } from './orders-read.ts';
import { privilegeEscalation } from './privilege-escalation.ts';
import { crossAgent, readThenWrite } from './read-then-write.ts';
import { semantic } from './semantic.ts';
import { threatIntel } from './threat-intel.ts';
import { tokenHarvesting } from './token-harvesting.ts';
import { volumeBurst } from './volume-burst.ts';

/** All engines, in the order in which their signals are listed. */
export const signalEngines: readonly SignalEngine[] = [
  classifier,
  threatIntel,
  newDestination,
  baseline,
  volumeBurst,
  readThenWrite,
  crossAgent,
  privilegeEscalation,
  massAction,
  tokenHarvesting,
  mcpDrift,
  ordersRead,
  ...semantic,
  externalPrincipal,
  lowTrust,
  encodedHost,
  opaqueContent,
];
export type { SignalEngine } from './engine.ts';
