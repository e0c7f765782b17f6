import { classifier } from './classifier.ts';
import type { SignalEngine } from './engine.ts';
import { newDestination } from './new-destination.ts';
import { opaqueContent } from './opaque-content.ts';

/** All engines, in the order in which their signals are listed. */
export const signalEngines: readonly SignalEngine[] = [classifier, newDestination, opaqueContent];
export type { SignalEngine } from './engine.ts';
