import { useState } from 'preact/hooks';
import { fetchConfig } from '../data/config.ts';
import { useResource } from '../data/resource.ts';
import { href } from '../data/route.ts';
import { Command, PageHead } from '../kit/bits.tsx';
import { Tabs } from '../kit/form.tsx';

type Steps = Readonly<Record<string, string>>;

/** Commands after a first start without a configuration, by the way of sending. */
const firstSteps: Steps = {
  'With curl': `. data/first-start.env\ncurl -i https://api.github.com/zen`,
  'Your agent': '. data/first-start.env\nbin/postern run -- python3 agent.py',
  'Without a network': `. data/first-start.env
curl "$POSTERN_URL/v1/scan" -H "authorization: Bearer $POSTERN_KEY" -H 'content-type: application/json' -d '{"method":"GET","url":"https://api.github.com/zen"}'`,
};

const stepsWith = (file: string): Steps => ({
  'With curl': `export POSTERN_CONFIG='${file}'\nbin/postern run -- curl -i https://api.github.com/zen`,
  'Your agent': `export POSTERN_CONFIG='${file}'\nbin/postern run -- python3 agent.py`,
});

/** Shows on the first visit one line to copy, and that its call arrives. */
export function FirstCall() {
  const [way, setWay] = useState('With curl');
  // A session that may not read the configuration is shown the first start, and the way to a key.
  const file = useResource('config', fetchConfig).data?.file;
  const steps = file ? stepsWith(file) : firstSteps;
  return (
    <>
      <PageHead title="Send the first call" about="Nothing has come through this gateway yet." />
      <ol class="guide">
        <li class="card">
          <h2>Run this in a second terminal, in the folder where Postern was started</h2>
          <Tabs label="How to send it" words={Object.keys(steps)} chosen={way} onChoose={setWay} />
          <Command text={steps[way] ?? ''} />
          <p class="hint">
            {file ? (
              <>
                The command takes the key of the first agent that stands beside the configuration.{' '}
                <a href={href('keys')}>Mint a key</a> for an agent elsewhere; it comes with its settings.
              </>
            ) : (
              <>
                data/first-start.env holds the key of the first agent and the settings by which programs find
                the gateway. Started with a configuration of your own? <a href={href('keys')}>Mint a key</a>{' '}
                instead; it comes with these lines.
              </>
            )}
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
