import t from 'tap';
import type { Band, DataClass, Decision } from '../../src/core/call.ts';
import { judgeByPosture, type Posture } from '../../src/decision/posture.ts';

const standard: Posture = {
  secrets: 'SANITIZE',
  pii: 'ALLOW',
  phi: 'ALLOW',
  internal: 'ALLOW',
  bands: { HIGH: 'REQUIRE_APPROVAL', CRITICAL: 'DENY' },
};

interface Case {
  name: string;
  posture?: Partial<Posture>;
  classes: DataClass[];
  band: Band;
  residual: Band;
  want: { decision: Decision; reasonCode: string | undefined };
}

const cases: Case[] = [
  {
    name: 'a clean call passes',
    classes: [],
    band: 'LOW',
    residual: 'LOW',
    want: { decision: 'ALLOW', reasonCode: undefined },
  },
  {
    name: 'a secret is cut out, and the risk that it made goes with it',
    classes: ['SECRETS'],
    band: 'HIGH',
    residual: 'LOW',
    want: { decision: 'SANITIZE', reasonCode: 'SECRETS' },
  },
  {
    name: 'risk that stays when the secret is gone still counts',
    classes: ['SECRETS'],
    band: 'CRITICAL',
    residual: 'CRITICAL',
    want: { decision: 'DENY', reasonCode: 'RISK_CRITICAL' },
  },
  {
    name: 'a class that is not cut keeps its risk',
    classes: ['SECRETS', 'PII'],
    band: 'HIGH',
    residual: 'LOW',
    want: { decision: 'REQUIRE_APPROVAL', reasonCode: 'RISK_HIGH' },
  },
  {
    name: 'the strictest of several classes is named',
    posture: { pii: 'DENY' },
    classes: ['SECRETS', 'PII'],
    band: 'LOW',
    residual: 'LOW',
    want: { decision: 'DENY', reasonCode: 'PII' },
  },
  {
    name: 'HIGH without a class is held',
    classes: [],
    band: 'HIGH',
    residual: 'HIGH',
    want: { decision: 'REQUIRE_APPROVAL', reasonCode: 'RISK_HIGH' },
  },
  {
    name: 'bands can be allowed',
    posture: { bands: { HIGH: 'ALLOW', CRITICAL: 'ALLOW' } },
    classes: [],
    band: 'CRITICAL',
    residual: 'CRITICAL',
    want: { decision: 'ALLOW', reasonCode: undefined },
  },
];

for (const { name, posture, classes, band, residual, want } of cases) {
  t.test(name, async (t) => {
    t.match(
      judgeByPosture({ score: 0, band, residualBand: residual }, classes, { ...standard, ...posture }),
      want,
    );
  });
}
