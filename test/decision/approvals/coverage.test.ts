import t from 'tap';
import { ownName } from '../../../src/core/safe-name.ts';
import { coverageOf } from '../../../src/decision/approvals/coverage.ts';
import { approvalRecord } from '../../state/records.ts';

const held = (url: string, body = '') =>
  approvalRecord({ url: ownName(url), bodyPreview: ownName(body), bodyBytes: Buffer.byteLength(body) });

t.test('what a grant covers is said', (t) => {
  const approval = { ...held('https://api.example.com/pay', '{"a":1}'), agentName: ownName('payer') };
  const { once, window, lasts } = coverageOf(approval, 600_000);
  t.equal(lasts, '10 minutes');
  const call =
    'POST https://api.example.com/pay with exactly this body of 7 bytes, by the agent payer in prod.';
  t.equal(
    once,
    `One call, if it comes within 10 minutes: ${call} Another agent, URL, body or method asks again.`,
  );
  t.match(window, `Every identical call for 10 minutes: ${call}`);
  const fields = [ownName('dropbox-api-arg: {"path":"/a"}'), ownName('sudo: root')];
  t.match(
    coverageOf({ ...approval, fields }, 600_000).once,
    'of 7 bytes and the headers “dropbox-api-arg: {"path":"/a"}”, “sudo: root”, by the agent payer',
  );
  t.match(coverageOf(held('https://a.example/'), 3_600_000).once, /1 hour: .* without a body/);
  t.match(coverageOf({ ...approval, opensWebSocket: true }, 90_000).once, /90 seconds.*each message on it/);
  t.end();
});
