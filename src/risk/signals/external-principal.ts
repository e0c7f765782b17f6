import { operationAndParts } from '../../core/call.ts';
import { safely } from '../../core/safe-name.ts';
import type { SignalEngine } from './engine.ts';

/**
 * Reports a call that addresses somebody outside the organisation, or carries findings to a host outside.
 * That alone is no risk, since mail goes to customers. Rules may ask for it, and people should know.
 */
export const externalPrincipal: SignalEngine = {
  name: 'external',
  assess({ operation, findings }, { isExternal }) {
    if (!isExternal) return undefined;
    const { size } = new Set(operationAndParts(operation).flatMap((it) => it.principals));
    const carries = findings.some((it) => !it.atHome && it.confidence !== 'low');
    if (size === 0 && !carries) return undefined;
    const several = size === 1 ? safely`somebody` : safely`some of ${size} principals`;
    return {
      engine: 'external',
      name: 'EXTERNAL_PRINCIPAL',
      score: 0.5,
      details: safely`it addresses ${size === 0 ? safely`a host` : several} outside the organisation`,
    };
  },
};
