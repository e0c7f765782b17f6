import type { Decision } from '../data/types.ts';
import { decisionWord } from './bits.tsx';

const order: readonly Decision[] = ['ALLOW', 'SANITIZE', 'REQUIRE_APPROVAL', 'DENY'];

/** Shows the colours of a chart of decisions. */
export const Legend = () => (
  <ul class="legend">
    {order.map((decision) => (
      <li key={decision}>
        <span class={`swatch swatch-${decision.toLowerCase()}`} />
        {decisionWord(decision)}
      </li>
    ))}
  </ul>
);
