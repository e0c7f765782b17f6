import { useState } from 'preact/hooks';
import { href } from '../data/route.ts';
import { Command, PageHead } from '../kit/bits.tsx';

const steps = {
  curl: `. data/first-start.env\ncurl -i https://api.github.com/zen`,
  agent: '. data/first-start.env\nbin/postern run -- python3 agent.py',
  offline: `. data/first-start.env
curl "$POSTERN_URL/v1/scan" -H "authorization: Bearer $POSTERN_KEY" -H 'content-type: application/json' -d '{"method":"GET","url":"https://api.github.com/zen"}'`,
} as const;
const words: Readonly<Record<keyof typeof steps, string>> = {
  curl: 'With curl',
  agent: 'Your agent',
  offline: 'Without a network',
};

/** Shows the first visit: one line to copy, and the call is seen to arrive. */
export function FirstCall() {
  const [way, setWay] = useState<keyof typeof steps>('curl');
  return (
    <>
      <PageHead title="Send the first call" about="Nothing has come through this gateway yet." />
      <ol class="guide">
        <li class="card">
          <h2>Run this in a second terminal, in the folder where Postern was started</h2>
          <fieldset class="tabs">
            <legend class="hidden">How to send it</legend>
            {(Object.keys(steps) as (keyof typeof steps)[]).map((it) => (
              <button
                key={it}
                type="button"
                class="small"
                aria-pressed={it === way}
                onClick={() => setWay(it)}
              >
                {words[it]}
              </button>
            ))}
          </fieldset>
          <Command text={steps[way]} />
          <p class="hint">
            data/first-start.env holds the key of the first agent and the settings by which programs find the
            gateway. Started with a configuration of your own? <a href={href('keys')}>Mint a key</a> instead;
            it comes with these lines.
          </p>
        </li>
        <li class="card">
          <h2>Watch it arrive</h2>
          <p class="arriving" role="status">
            <span class="pulse" aria-hidden="true" /> Waiting for the first call…
          </p>
          <p class="hint">This page changes by itself as soon as the call is there.</p>
        </li>
        <li class="card">
          <h2>Then forbid something</h2>
          <p class="hint">
            <a href={href(['policies', 'new'])}>Write a rule</a>, see what it would have changed, apply it,
            and undo it.
          </p>
        </li>
      </ol>
    </>
  );
}
