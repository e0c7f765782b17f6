import type { Threat } from '../../core/call.ts';
import { joined, ownName, type SafeName, shortened } from '../../core/safe-name.ts';
import type { SignalEngine } from './engine.ts';

const namedMax = 4;

/** Reports a destination, or a URL in the body, that a threat feed lists. */
export const threatIntel: SignalEngine = {
  name: 'threat_intel',
  assess(_, { threats }) {
    if (threats.length === 0) return undefined;
    return {
      engine: 'threat_intel',
      name: 'THREAT_INTEL_MATCH',
      score: 1,
      details: shortened(joined(threats.slice(0, namedMax).map(describe), '; '), 1024),
    };
  },
};

/**
 * Describes a threat. A listed indicator is public, so it may stand here; its surroundings in the call may
 * not.
 */
const describe = ({ feed, kind, indicator, threat, location }: Threat): SafeName => {
  const what = location === 'target' ? 'the destination' : 'a URL in the body';
  return ownName(
    `${feed} lists ${what}: ${kind} ${indicator.slice(0, 200)}${threat === '' ? '' : ` (${threat})`}`,
  );
};
