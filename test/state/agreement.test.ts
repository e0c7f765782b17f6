import t from 'tap';
import { agree, openSides } from './agreement/agreement.ts';
import { approvals } from './agreement/approvals.ts';
import { calls } from './agreement/calls.ts';
import { notices } from './agreement/notices.ts';

t.test('both drivers answer the same to any steps', async (t) => {
  const sides = await openSides(t);
  if (!sides) return;
  await t.test('calls: limits, budgets, behaviour and counts', (t) => agree(t, sides, calls));
  await t.test('approvals', (t) => agree(t, sides, approvals));
  await t.test('notices', (t) => agree(t, sides, notices));
});
