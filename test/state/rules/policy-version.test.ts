import t from 'tap';
import {
  archived,
  archivedCharsMax,
  archivedMax,
  forgottenMax,
  nextVersion,
} from '../../../src/state/rules/policy-version.ts';
import type { PolicyRecord } from '../../../src/state/store.ts';
import { noonMs, policyApply } from '../records.ts';

const active = (name: string, length = 10): PolicyRecord =>
  nextVersion(policyApply({ name, rules: ['x'.repeat(length - 4)] }), []);
/** Policies that were archived one after the other. */
const before = (count: number, length?: number): PolicyRecord[] =>
  Array.from({ length: count }, (_, at) => ({ ...active(`p${at}`, length), archivedAtMs: noonMs + at }));

const cases = [
  { name: 'none where there is room', standing: before(archivedMax - 1), want: [] },
  { name: 'the first one where there are as many as may be', standing: before(archivedMax), want: ['p0'] },
  { name: 'none of as many characters as may be', standing: before(9, archivedCharsMax / 10), want: [] },
  {
    name: 'the first ones of more characters',
    standing: before(11, archivedCharsMax / 10),
    want: ['p1', 'p0'],
  },
  {
    name: 'no more than it may at once',
    standing: before(archivedMax + 2 * forgottenMax),
    want: Array.from({ length: forgottenMax }, (_, at) => `p${forgottenMax - 1 - at}`),
  },
];

for (const { name, standing, want } of cases) {
  t.test(`who archives a policy forgets ${name}`, async (t) => {
    const own = active('own', archivedCharsMax / 10);
    const archive = { tenantId: own.tenantId, name: 'own', envName: own.envName, nowMs: noonMs + 1_000 };
    const done = archived(archive, [own, ...standing]);
    t.match(done?.record, { name: 'own', archivedAtMs: noonMs + 1_000 });
    t.same(
      done?.forgotten.map((it) => it.name),
      want,
    );
  });
}
