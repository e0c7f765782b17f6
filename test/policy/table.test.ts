import t from 'tap';
import type { PolicyDecision } from '../../src/policy/index.ts';
import { decideBy, type GivenRule } from './facts.ts';
import { combinations } from './table/combinations.ts';
import { conditions } from './table/conditions.ts';
import { matchKeys } from './table/match-keys.ts';
import type { Row } from './table/row.ts';

/*
 * The policy language, key by key: what each key, condition and modifier says of calls that it means, of calls that it does
 * not, and of those at its edge.
 */

/** Each case of a row: the call, and whether the rule holds for it. */
const casesOf = ({ holds, fails, edgeHolds = [], edgeFails = [] }: Row) => [
  ...[...holds, ...edgeHolds].map((call) => ({ call, isHeld: true })),
  ...[...fails, ...edgeFails].map((call) => ({ call, isHeld: false })),
];
const keys: Readonly<Record<string, readonly Row[]>> = { ...matchKeys, ...conditions };

for (const [key, rows] of Object.entries({ ...keys, ...combinations })) {
  t.test(`${key} holds and does not hold as written`, async (t) => {
    for (const row of rows) {
      const { holds, fails, edgeHolds, edgeFails, ...rule } = row;
      for (const { call, isHeld } of casesOf(row)) {
        const wanted = isHeld ? (rule.action ?? 'DENY') : undefined;
        t.equal(decideBy([rule], call).action, wanted, JSON.stringify({ rule, call }));
      }
    }
  });
}

t.test('every key has calls that it means, calls that it does not, and calls at its edge', async (t) => {
  for (const [key, rows] of Object.entries(keys)) {
    t.ok(
      rows.some(({ holds }) => holds.length > 0),
      `${key} holds`,
    );
    t.ok(
      rows.some(({ fails }) => fails.length > 0),
      `${key} does not hold`,
    );
    t.ok(
      rows.some(({ edgeHolds = [], edgeFails = [] }) => edgeHolds.length + edgeFails.length > 0),
      `${key} has an edge`,
    );
  }
  const count = Object.values({ ...keys, ...combinations })
    .flat()
    .flatMap(casesOf).length;
  t.ok(count >= 250, `${count} cases`);
});

/** [rule, what it makes of a call for which it holds, and of one for which it does not] */
const modifiers: Record<
  string,
  [rule: GivenRule, held: Partial<PolicyDecision>, notHeld: Partial<PolicyDecision>][]
> = {
  action: [
    [
      { action: 'ALLOW' },
      { action: 'ALLOW', reasonCodes: ['POLICY_ALLOW'] },
      { action: undefined, reasonCodes: [] },
    ],
    [{ action: 'DENY' }, { action: 'DENY', reasonCodes: ['POLICY_DENY'] }, { action: undefined }],
    [{ action: 'SANITIZE' }, { action: 'SANITIZE', namedClasses: [] }, { namedClasses: [] }],
    [
      { action: 'REQUIRE_APPROVAL' },
      { action: 'REQUIRE_APPROVAL', alsoSanitize: false },
      { action: undefined },
    ],
    [
      { action: 'OPEN_INCIDENT' },
      { action: 'OPEN_INCIDENT', reasonCodes: ['POLICY_OPEN_INCIDENT'], incidentSeverity: 'HIGH' },
      { incidentSeverity: undefined },
    ],
  ],
  escalate_to: [
    [{ escalate_to: 'slack' }, { action: 'DENY', escalateTo: ['slack'] }, { escalateTo: [] }],
    [
      { escalate_to: 'slack', action: 'ALLOW' },
      { action: 'ALLOW', escalateTo: ['slack'] },
      { escalateTo: [] },
    ],
    [{}, { escalateTo: [] }, { escalateTo: [] }],
  ],
  tag: [
    [{ tag: 'reviewed' }, { tags: ['reviewed'] }, { tags: [] }],
    [{ tag: 'reviewed', action: 'ALLOW' }, { action: 'ALLOW', tags: ['reviewed'] }, { tags: [] }],
    [{}, { tags: [] }, { tags: [] }],
  ],
  reason_code: [
    [{ reason_code: 'NO_PROD_9' }, { reasonCodes: ['NO_PROD_9'] }, { reasonCodes: [] }],
    [
      { reason_code: 'FINE', action: 'ALLOW' },
      { action: 'ALLOW', reasonCodes: ['FINE'] },
      { reasonCodes: [] },
    ],
  ],
  incident_severity: [
    ...(['LOW', 'MEDIUM', 'HIGH', 'CRITICAL'] as const).map(
      (severity): [GivenRule, Partial<PolicyDecision>, Partial<PolicyDecision>] => [
        { action: 'OPEN_INCIDENT', incident_severity: severity },
        { incidentSeverity: severity },
        { incidentSeverity: undefined },
      ],
    ),
    // Only an incident has a severity.
    [{ action: 'DENY', incident_severity: 'LOW' }, { action: 'DENY', incidentSeverity: undefined }, {}],
  ],
};

/** What a decision says in the fields of another. */
const said = (decision: PolicyDecision, wanted: object): object =>
  Object.fromEntries(Object.keys(wanted).map((key) => [key, decision[key as keyof PolicyDecision]]));

for (const [modifier, rows] of Object.entries(modifiers)) {
  t.test(`${modifier} takes effect where the rule holds, and only there`, async (t) => {
    for (const [rule, held, notHeld] of rows) {
      const decided = (method: string) => decideBy([{ ...rule, match: { methods: ['POST'] } }], { method });
      t.strictSame(said(decided('POST'), held), held, JSON.stringify(rule));
      t.strictSame(said(decided('GET'), notHeld), notHeld, JSON.stringify(rule));
    }
  });
}
