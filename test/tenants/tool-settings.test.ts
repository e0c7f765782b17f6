import t from 'tap';
import { createToolSettings } from '../../src/tenants/tool-settings.ts';

const setting = (fields: {
  name?: string;
  tenantId?: string | null;
  maxBodyBytes?: number | null;
  sensitive?: boolean | null;
}) => ({ name: 'slack', tenantId: null, maxBodyBytes: null, sensitive: null, ...fields });

t.test('what a tenant says of a tool goes before what is said for all, key by key', (t) => {
  const settings = createToolSettings([
    setting({ maxBodyBytes: 10, sensitive: true }),
    setting({ tenantId: 'acme', sensitive: false }),
    setting({ tenantId: 'acme', maxBodyBytes: 5 }),
    setting({ name: 'github', tenantId: 'other', maxBodyBytes: 99 }),
  ]);
  t.equal(settings.maxBodyBytes('acme', 'slack'), 5);
  t.equal(settings.isSensitive('acme', 'slack'), false);
  t.equal(settings.maxBodyBytes('other', 'slack'), 10);
  t.equal(settings.isSensitive('other', 'slack'), true);
  t.equal(settings.maxBodyBytes('acme', 'github'), undefined, 'of another tenant');
  t.equal(settings.isSensitive('acme', 'constructor'), undefined);
  t.equal(settings.smallestMaxBodyBytes, 5);
  t.strictSame(
    ['acme', 'other', 'none'].map((it) => settings.largestMaxBodyBytes(it)),
    [10, 99, 10],
  );
  t.end();
});

t.test('nothing said is no limit', (t) => {
  const settings = createToolSettings([]);
  t.equal(settings.maxBodyBytes('acme', 'slack'), undefined);
  t.equal(settings.smallestMaxBodyBytes, Infinity);
  t.equal(settings.largestMaxBodyBytes('acme'), 0);
  t.end();
});
