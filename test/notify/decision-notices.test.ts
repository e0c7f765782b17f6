import t from 'tap';
import { bands, type Decision, decisions } from '../../src/core/call.ts';
import { newTraceId } from '../../src/core/ids.ts';
import { ownName } from '../../src/core/safe-name.ts';
import { noticesOfCalls, type WantedDecisions } from '../../src/notify/decision-notices.ts';
import { toLine } from '../../src/state/journal/line.ts';
import type { RecordedCall } from '../../src/state/store.ts';
import { recordedCall } from '../state/records.ts';

const linesOf = (...calls: readonly RecordedCall[]): Uint8Array => Buffer.from(calls.map(toLine).join(''));

function callOf(decision: Decision, trace: object = {}, fields: Partial<RecordedCall> = {}): RecordedCall {
  const traceId = newTraceId(Date.now());
  const line = JSON.stringify({ trace_id: traceId, decision, risk_band: 'HIGH', ...trace });
  return recordedCall({ traceId, decision, line: ownName(line), ...fields });
}

const only = (...wanted: Decision[]): WantedDecisions => new Map(wanted.map((it) => [it, 'LOW']));
const idsOf = (lines: Uint8Array, wanted: WantedDecisions): string[] =>
  noticesOfCalls(lines, wanted).map((it) => it.noticeId);

t.test('calls of the wanted decisions become notices, in their order', async (t) => {
  const calls = decisions.flatMap((it) => [callOf(it), callOf(it)]);
  const lines = linesOf(...calls);
  t.same(idsOf(lines, only()), []);
  t.same(
    idsOf(lines, only(...decisions)),
    calls.map((it) => it.traceId),
  );
  const denied = calls.filter((it) => it.decision === 'DENY').map((it) => it.traceId);
  t.same(idsOf(lines, only('DENY')), denied);
  t.same(idsOf(new Uint8Array(0), only('DENY')), []);
});

t.test('what a rule escalates becomes a notice whatever the decision', async (t) => {
  const calls = [callOf('ALLOW'), callOf('ALLOW', { escalate_to: ['slack', 'email'] }), callOf('ALLOW')];
  const [notice, ...more] = noticesOfCalls(linesOf(...calls), only());
  t.match(notice, { noticeId: calls[1]?.traceId, kind: 'decision.allow', escalateTo: ['slack', 'email'] });
  t.same(more, []);
});

t.test('texts of strangers are no decisions and escalate nothing', async (t) => {
  const text = 'x\tDENY\ty","escalate_to":["slack"]\n\tDENY\t,"escalate_to":[';
  const calls = [
    callOf('ALLOW', { agent_name: text, url: text, escalate: text }),
    callOf('ALLOW', {}, { destination: ownName(text) }),
    callOf('ALLOW', {}, { tenantId: 'DENY', agentId: 'DENY', keyId: 'DENY' }),
  ];
  const notices = noticesOfCalls(linesOf(...calls), only('DENY'));
  t.notOk(notices.some((it) => it.kind === 'decision.deny' || it.escalateTo.length > 0));
});

t.test('a notice says what the trace says, and is bounded whatever that is', async (t) => {
  const trace = {
    tenant_id: 'acme',
    env_name: 'staging',
    agent_name: `bot\n${'x'.repeat(5_000)}`,
    tool_name: 'github',
    operation: 'delete_repo',
    reason_codes: ['POLICY_DENY'],
    risk_band: 'CRITICAL',
    approval_id: 'a',
    explanation: Array.from({ length: 100 }, () => 'y'.repeat(3_000)),
    findings: [{ class: 'SECRETS' }],
    client_address: '192.0.2.1',
  };
  const [notice] = noticesOfCalls(linesOf(callOf('DENY', trace)), only('DENY'));
  t.match(notice, {
    kind: 'decision.deny',
    severity: 'CRITICAL',
    envName: 'staging',
    toolName: 'github',
    data: { operation: 'delete_repo', reason_codes: ['POLICY_DENY'], approval_id: 'a' },
  });
  t.ok((notice?.summary.length ?? 999) <= 300);
  t.notMatch(notice?.summary, /\n/);
  t.ok(JSON.stringify(notice?.data).length <= 16_384);
  t.notOk('findings' in (notice?.data ?? {}), 'nothing that a detector has found');
  t.notOk('client_address' in (notice?.data ?? {}));
});

t.test('lines that are not whole are passed over', async (t) => {
  const whole = callOf('DENY');
  const half = toLine(callOf('DENY')).slice(0, 150);
  for (const text of [`${half}\n${toLine(whole)}`, `\tDENY\t\n${toLine(whole)}${half}`])
    t.same(idsOf(Buffer.from(text), only('DENY')), [whole.traceId]);
  const broken = toLine(whole).replace('{"trace_id"', '{"trace_id');
  t.same(idsOf(Buffer.from(broken), only('DENY')), []);
});

t.test(
  'calls of less risk than anybody wants are left where they are, whatever their callers write',
  async (t) => {
    const calls = bands.map((risk_band) => callOf('DENY', { risk_band }));
    const lines = linesOf(...calls);
    for (const [at, band] of bands.entries())
      t.same(
        idsOf(lines, new Map([['DENY', band]])),
        calls.slice(at).map((it) => it.traceId),
        band,
      );
    const disguised = callOf(
      'DENY',
      { agent_name: '"risk_band":"LOW"', risk_band: 'HIGH' },
      { destination: ownName('x"risk_band":"LOW"'), names: [ownName('"risk_band":"LOW"')] },
    );
    t.same(idsOf(linesOf(disguised), new Map([['DENY', 'HIGH']])), [disguised.traceId]);
    const escalated = callOf('DENY', { risk_band: 'LOW', escalate_to: ['slack'] });
    t.same(idsOf(linesOf(escalated), new Map([['DENY', 'CRITICAL']])), [escalated.traceId]);
  },
);
