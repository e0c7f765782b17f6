import { loadEngines } from '../../src/tenants/engines.ts';

/** The detectors that come with the gateway, and their engine: reading and planning them takes a second. */
export const { detectors, common: engine } = loadEngines();
