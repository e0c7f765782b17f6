import t from 'tap';
import { agree, openSides } from './agreement/agreement.ts';
import { approvals } from './agreement/approvals.ts';
import { calls } from './agreement/calls.ts';
import { notices } from './agreement/notices.ts';
import { records } from './agreement/records.ts';
import { storedHistory, storedLimits } from './agreement/stored.ts';

t.test('both drivers answer the same to any steps', async (t) => {
  const sides = await openSides(t);
  if (!sides) return;
  await t.test('calls: limits, budgets, behaviour and counts', (t) => agree(t, sides, calls));
  await t.test('approvals', (t) => agree(t, sides, approvals));
  await t.test('notices', (t) => agree(t, sides, notices));
  await t.test('records, homes and nonces', (t) => agree(t, sides, records));
  await t.test('limits: Lua leaves what the rule leaves', (t) => agree(t, sides, storedLimits(sides)));
  await t.test('behaviour and trust: Lua leaves what the rule leaves', (t) =>
    agree(t, sides, storedHistory(sides)),
  );
});
