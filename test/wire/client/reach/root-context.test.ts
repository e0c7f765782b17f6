import t from 'tap';
import { contextFor } from '../../../../src/wire/client/reach/root-context.ts';
import { createTestAuthority } from '../../../support/certificates.ts';

t.test('the same roots are read once, and others are others', async (t) => {
  const [one, other] = [createTestAuthority().certPem, createTestAuthority().certPem];
  const context = contextFor([one]);
  t.equal(contextFor([one]), context, 'also from another list');
  t.not(contextFor([other]), context);
  t.not(contextFor([one, other]), context);
  t.equal(contextFor([one]), context);
});

t.test('no more than a few are kept: those that were asked for last', async (t) => {
  const roots = Array.from({ length: 5 }, () => [createTestAuthority().certPem]);
  const contexts = roots.map(contextFor);
  const [first = [], second = []] = roots;
  t.equal(contextFor(second), contexts[1]);
  t.not(contextFor(first), contexts[0]);
});
