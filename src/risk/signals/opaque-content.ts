import { ownName } from '../../core/safe-name.ts';
import type { SignalEngine } from './engine.ts';

/** Does it carry what nobody can read? By itself that is no risk: agents send pictures. Rules may ask for it, and people should know. */
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
