import t from 'tap';
import { csvColumns, csvExport } from '../../src/api/exports/csv.ts';
import { ocsf } from '../../src/api/exports/ocsf.ts';
import { attackedCodes } from '../../src/core/attacks.ts';
import { decisions } from '../../src/core/call.ts';
import { reasonCodes } from '../../src/decision/reason-codes.ts';

const at = '2026-11-22T10:00:00.000Z';
const trace = (fields: Record<string, unknown> = {}): string =>
  JSON.stringify({
    trace_id: '019a0000-0000-7000-8000-000000000000',
    at,
    decision: 'ALLOW',
    ...fields,
  });

/** The cell of that column, as it stands in the row. */
const rowWith = (fields: Record<string, unknown>): string => csvExport.toText(trace(fields));

t.test('cells of CSV', async (t) => {
  const cases: { name: string; value: unknown; want: string }[] = [
    { name: 'a plain text', value: 'worker-7', want: 'worker-7' },
    { name: 'an empty one', value: '', want: '' },
    { name: 'null', value: null, want: '' },
    { name: 'a comma', value: 'a,b', want: '"a,b"' },
    { name: 'what other readers separate by', value: 'a;b', want: '"a;b"' },
    { name: 'quotes', value: 'a "b"', want: '"a ""b"""' },
    { name: 'line ends', value: 'a\r\nb', want: '"a\r\nb"' },
    { name: 'a formula', value: '=1+1', want: `"'=1+1"` },
    { name: 'a formula by +', value: '+1', want: `"'+1"` },
    { name: 'a formula by -', value: '-1', want: `"'-1"` },
    { name: 'a formula by @', value: '@SUM(A1)', want: `"'@SUM(A1)"` },
    { name: 'a formula behind a tab', value: '\t=1', want: `"'\t'=1"` },
    { name: 'a formula behind a CR', value: '\r=1', want: `"'\r'=1"` },
    { name: 'a formula behind another separator', value: 'a;=1+1', want: `"a;'=1+1"` },
    { name: 'a formula in quotes behind one', value: 'a| "@x', want: `"a| ""'@x"` },
    { name: 'a formula in wide letters', value: '＝1', want: `"'＝1"` },
    { name: 'a list', value: ['A', 'B'], want: '"A; B"' },
    { name: 'a list that would be a formula', value: ['=A'], want: `"'=A"` },
    { name: 'an empty list', value: [], want: '' },
    { name: 'findings', value: [{ class: 'PII', kind: 'email' }], want: '"PII email"' },
  ];
  const before = csvColumns.indexOf('agent_name');
  for (const { name, value, want } of cases) {
    const row = rowWith({ agent_name: value });
    t.equal(row, rowWith({}).split(',').with(before, want).join(), name);
    t.ok(row.endsWith('\r\n'));
  }
  t.match(rowWith({ risk_score: 0.25 }), ',0.25,', 'numbers are numbers');
  t.match(rowWith({ risk_score: -1 }), ',-1,');
});

t.test('events of OCSF have what their class demands', async (t) => {
  const required = [
    'activity_id',
    'category_uid',
    'class_uid',
    'type_uid',
    'severity_id',
    'time',
    'metadata',
    'actor',
    'api',
    'src_endpoint',
    'action_id',
  ];
  const bare = JSON.parse(ocsf.toText(trace()));
  for (const name of required) t.ok(bare[name] !== undefined, `${name} without anything else`);
  t.match(bare, {
    activity_id: 99,
    activity_name: 'Other',
    category_uid: 6,
    class_uid: 6003,
    type_uid: 600399,
    time: Date.parse(at),
    metadata: { version: '1.9.0', product: { vendor_name: 'Postern' } },
    api: { operation: String },
  });
  for (const decision of decisions) {
    const event = JSON.parse(ocsf.toText(trace({ decision, method: 'PUT', risk_band: 'CRITICAL' })));
    const isOut = decision === 'ALLOW' || decision === 'SANITIZE';
    t.match(
      event,
      {
        activity_id: 3,
        severity_id: 5,
        action_id: isOut ? 1 : 2,
        status_id: isOut ? 1 : 2,
        unmapped: { decision },
      },
      decision,
    );
  }
  const full = JSON.parse(
    ocsf.toText(
      trace({
        url: 'mcp://tools.example:7000/x',
        tags: ['finance'],
        client_address: '::1',
        reason_codes: ['PII'],
      }),
    ),
  );
  t.match(full, {
    dst_endpoint: { hostname: 'tools.example', port: 7000 },
    src_endpoint: { ip: '::1' },
    status_code: 'PII',
    unmapped: { tags: ['finance'] },
  });
  const risky = {
    decision: 'DENY',
    risk_score: 0.815,
    risk_band: 'CRITICAL',
    policy_id: 'p1',
    policy_name: 'payments',
  };
  t.match(JSON.parse(ocsf.toText(trace(risky))), {
    is_alert: true,
    risk_level_id: 4,
    risk_score: 82,
    policy: { uid: 'p1', name: 'payments' },
    unmapped: { risk_score: 0.815 },
  });
  const attack = {
    reason_codes: ['READ_THEN_WRITE', 'EXTERNAL_PRINCIPAL', 'EXFILTRATION', 'PROMPT_INJECTION'],
  };
  t.same(
    JSON.parse(ocsf.toText(trace(attack))).attacks,
    [
      { technique: { uid: 'AML.T0086', name: 'Exfiltration via AI Agent Tool Invocation' } },
      {
        technique: { uid: 'AML.T0051', name: 'LLM Prompt Injection' },
        sub_technique: { uid: 'AML.T0051.001', name: 'Indirect' },
      },
    ],
    'each technique once',
  );
  t.same(bare.attacks, []);
  t.equal(bare.is_alert, false);
  t.equal(JSON.parse(ocsf.toText(trace({ url: '[REDACTED:url]' }))).dst_endpoint, undefined);
  for (const method of ['constructor', '__proto__', 'toString', 'get'])
    t.match(JSON.parse(ocsf.toText(trace({ method }))), { activity_id: 99, activity_name: method }, method);
});

t.test('techniques of attackers are named by codes that calls have', async (t) => {
  const codes = new Set(reasonCodes.flatMap(([names]) => names));
  t.strictSame(
    attackedCodes.filter((it) => !codes.has(it)),
    [],
  );
});
