import { classifier } from './classifier.ts';
import type { SignalEngine } from './engine.ts';
import { newDestination } from './new-destination.ts';

/** All engines, in the order in which their signals are listed. */
export const signalEngines: readonly SignalEngine[] = [classifier, newDestination];
export type { SignalEngine } from './engine.ts';
