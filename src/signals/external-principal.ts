import type { SignalEngine } from './engine.ts';

const namedMax = 3;

/**
 * Does it address somebody outside, or take what was found in it outside? By itself that is no risk: mail goes to customers. Rules may ask
 * for it, and people should know.
 */
export const externalPrincipal: SignalEngine = {
  name: 'external',
  weigh({ isExternal, operation, findings }) {
    if (!isExternal || !operation) return undefined;
    const { principals } = operation;
    const carries = findings.some((it) => !it.atHome && it.confidence !== 'low');
    if (principals.length === 0 && !carries) return undefined;
    const more = principals.length > namedMax ? ` and ${principals.length - namedMax} more` : '';
    const whom =
      principals.length === 0
        ? 'a host'
        : `${principals.length === 1 ? 'somebody' : `some of ${principals.length}`}`;
    return {
      engine: 'external',
      name: 'EXTERNAL_PRINCIPAL',
      score: 0.5,
      details: `it addresses ${whom} outside the organisation${more}`,
    };
  },
};
