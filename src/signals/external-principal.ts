import type { Operation } from '../call.ts';
import type { SignalEngine } from './engine.ts';

/** How many different ones. */
const principalsOf = ({ principals, parts }: Operation): number =>
  principals.length === 0 && !parts
    ? 0
    : new Set([...principals, ...(parts?.flatMap((it) => it.operation.principals) ?? [])]).size;

/**
 * Does it address somebody outside, or take what was found in it outside? By itself that is no risk: mail goes to customers. Rules may ask
 * for it, and people should know.
 */
export const externalPrincipal: SignalEngine = {
  name: 'external',
  weigh({ isExternal, operation, findings }) {
    if (!isExternal || !operation) return undefined;
    const size = principalsOf(operation);
    const carries = findings.some((it) => !it.atHome && it.confidence !== 'low');
    if (size === 0 && !carries) return undefined;
    const several = size === 1 ? 'somebody' : `some of ${size} principals`;
    return {
      engine: 'external',
      name: 'EXTERNAL_PRINCIPAL',
      score: 0.5,
      details: `it addresses ${size === 0 ? 'a host' : several} outside the organisation`,
    };
  },
};
