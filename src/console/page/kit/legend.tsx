import { decisions } from '../../../core/verdict.ts';
import { decisionWord } from './bits.tsx';

/** Shows the colours of a chart of decisions. */
export const Legend = () => (
  <ul class="legend">
    {decisions.map((decision) => (
      <li key={decision}>
        <span class={`swatch swatch-${decision.toLowerCase()}`} />
        {decisionWord(decision)}
      </li>
    ))}
  </ul>
);
