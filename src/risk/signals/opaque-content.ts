import { ownName } from '../../core/safe-name.ts';
import type { SignalEngine } from './engine.ts';

/**
 * Reports content that nobody can read. It is no risk by itself, since agents send pictures, but rules may
 * ask for it.
 */
export const opaqueContent: SignalEngine = {
  name: 'content',
  assess({ inspection: { opaque } }) {
    if (opaque.length === 0) return undefined;
    // The places quote nothing that was found.
    return {
      engine: 'content',
      name: 'OPAQUE_CONTENT',
      score: 0,
      details: ownName(opaque.join('; ').slice(0, 1024)),
    };
  },
};
