import t from 'tap';
import type { Finding, InspectedCall } from '../../../src/core/call.ts';
import { newDestination } from '../../../src/risk/signals/new-destination.ts';
import { redactedDestination } from '../../../src/risk/signals/redacted-destination.ts';
import { callOf, findingOf } from '../../support/call.ts';

const label = 'q7rt2mxw5lkd3vnb';

function callTo(url: string, destination: string, found: (call: InspectedCall) => Partial<Finding>[]) {
  const body = Buffer.from(JSON.stringify({ channel: label }));
  const head = Buffer.from(callOf({ url }).target.href, 'latin1');
  const fields = { url, body, head, destination, isNewDestination: true };
  return callOf({ ...fields, findings: found(callOf(fields)).map((it) => findingOf(it)) });
}

const inHead = (text: string) => (call: InspectedCall) => {
  const start = call.head.indexOf(text);
  return [{ part: 'head', start, end: start + text.length } as const];
};
const inBody = (call: InspectedCall) => {
  const start = call.body.indexOf(label);
  return [{ part: 'body', start, end: start + label.length } as const];
};

const hidden = [
  {
    name: 'a label of the host',
    call: callTo(`https://${label}.evil.example/`, `host:${label}.evil.example`, inHead(label)),
  },
  {
    name: 'a piece of the host',
    call: callTo(`https://${label}.evil.example/`, `host:${label}.evil.example`, inHead('7r')),
  },
  { name: 'the name of a channel', call: callTo('https://slack.example/', `slack:#${label}`, inBody) },
];

for (const { name, call } of hidden) {
  t.test(`a destination with a finding in ${name} is told by its hash`, async (t) => {
    const [kind] = call.destination.split(':');
    t.match(redactedDestination(call), new RegExp(`^${kind}:sha256:[0-9a-f]{64}$`));
    t.notMatch(newDestination.assess(call, call.evidence)?.details, label);
  });
}

t.test('another one is told as it is, whatever else was found', async (t) => {
  const call = callTo(`https://api.example/v1/${label}?a=1`, 'host:api.example', (it) => [
    ...inHead(label)(it),
    ...inBody(it),
    { part: 'body', start: 2, end: 3 },
  ]);
  t.equal(redactedDestination(call), 'host:api.example');
  t.match(newDestination.assess(call, call.evidence), {
    details: 'the first call of this agent to host:api.example',
  });
});
