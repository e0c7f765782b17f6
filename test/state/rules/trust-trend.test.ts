import t from 'tap';
import {
  afterCalls,
  afterMark,
  defaultTrustTerms,
  trustTrend,
  wholeTrust,
} from '../../../src/state/rules/trust.ts';
import { noonMs } from '../records.ts';
import { markOf } from '../suite/trust.ts';

const hourMs = 3_600_000;
const trendOf = ({ marks }: typeof wholeTrust) =>
  trustTrend(marks).map(({ atMs, parts }) => [(atMs - noonMs) / hourMs, parts]);

t.test('the trend of trust has what was there before and after each loss', (t) => {
  t.same(trendOf(wholeTrust), []);
  let trust = afterMark(wholeTrust, markOf({ parts: 2_000 }), defaultTrustTerms);
  const clean = { firstMs: noonMs + hourMs, lastMs: noonMs + hourMs, count: 100, isClean: true };
  trust = afterCalls(trust, clean, defaultTrustTerms);
  trust = afterMark(trust, markOf({ parts: 1_000, atMs: noonMs + hourMs }), defaultTrustTerms);
  const before = [
    [0, 10_000],
    [0, 8_000],
    [1, 8_300],
    [1, 7_300],
  ];
  t.same(trendOf(trust), before, 'clean calls bring some back');
  trust = afterMark(trust, markOf({ parts: 9_999, atMs: noonMs + hourMs }), defaultTrustTerms);
  t.same(trendOf(trust), [...before, [1, 0]], 'what was lost beyond is not told');
  const old = { ...trust, marks: [markOf(), ...trust.marks] };
  t.same(trendOf(old), [...before, [1, 0]], 'a mark of before says nothing of it');
  t.end();
});
