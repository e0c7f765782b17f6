import t from 'tap';
import type { Call, Finding } from '../../../src/core/call.ts';
import { newDestination } from '../../../src/risk/signals/new-destination.ts';
import { shownDestination } from '../../../src/risk/signals/shown-destination.ts';
import { callOf, findingOf } from '../../support/call.ts';

const label = 'q7rt2mxw5lkd3vnb';

function callTo(url: string, destination: string, found: (call: Call) => Partial<Finding>[]): Call {
  const call = callOf({ url, body: Buffer.from(JSON.stringify({ channel: label })) });
  call.destination = destination;
  call.isNewDestination = true;
  call.head = Buffer.from(call.target.href, 'latin1');
  call.findings = found(call).map((it) => findingOf(it));
  return call;
}

const inHead = (text: string) => (call: Call) => {
  const start = call.head.indexOf(text);
  return [{ part: 'head', start, end: start + text.length } as const];
};
const inBody = (call: Call) => {
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
    t.match(shownDestination(call), new RegExp(`^${kind}:sha256:[0-9a-f]{64}$`));
    t.notMatch(newDestination.weigh(call)?.details, label);
  });
}

t.test('another one is told as it is, whatever else was found', async (t) => {
  const call = callTo(`https://api.example/v1/${label}?a=1`, 'host:api.example', (it) => [
    ...inHead(label)(it),
    ...inBody(it),
    { part: 'body', start: 2, end: 3 },
  ]);
  t.equal(shownDestination(call), 'host:api.example');
  t.match(newDestination.weigh(call), { details: 'the first call of this agent to host:api.example' });
});
