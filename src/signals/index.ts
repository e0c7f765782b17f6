import { classifier } from './classifier.ts';
import type { SignalEngine } from './engine.ts';
import { mcpDrift } from './mcp-drift.ts';
import { newDestination } from './new-destination.ts';
import { opaqueContent } from './opaque-content.ts';
import { semantic } from './semantic.ts';
import { threatIntel } from './threat-intel.ts';

/** All engines, in the order in which their signals are listed. */
export const signalEngines: readonly SignalEngine[] = [
  classifier,
  threatIntel,
  newDestination,
  mcpDrift,
  semantic,
  opaqueContent,
];
export type { SignalEngine } from './engine.ts';
