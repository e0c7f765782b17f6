import t from 'tap';
import { isAddressAllowed } from '../../../src/state/rules/admission.ts';
import type { KeyRecord } from '../../../src/state/store.ts';

const keyWith = (ipAllowlist: string[] | null): KeyRecord => ({
  keyId: '5b0c7f0e-7a54-4b0e-9a55-0a2f6f0f7c11',
  hash: '00',
  prefix: 'iv_live_abcd',
  type: 'live',
  tenantId: 'acme',
  envName: 'production',
  envNames: [],
  agentId: '5b0c7f0e-7a54-4b0e-9a55-0a2f6f0f7c12',
  name: 'test',
  description: null,
  permissions: ['scan'],
  ipAllowlist,
  createdAtMs: 0,
  expiresAtMs: null,
  revokedAtMs: null,
  perMinute: null,
  requireNonce: false,
  revokedBy: null,
  parentKeyId: null,
  maxUses: null,
  scope: null,
  isFromConfig: false,
});

const cases = [
  { name: 'no list allows every address', list: null, address: '203.0.113.1', allowed: true },
  { name: '0.0.0.0/0 allows every address', list: ['0.0.0.0/0'], address: '203.0.113.1', allowed: true },
  { name: '0.0.0.0/0 allows the other family', list: ['0.0.0.0/0'], address: '2001:db8::1', allowed: true },
  { name: 'an address within', list: ['10.0.0.0/8'], address: '10.1.2.3', allowed: true },
  { name: 'an address outside', list: ['10.0.0.0/8'], address: '11.1.2.3', allowed: false },
  { name: 'a single address', list: ['192.0.2.7'], address: '192.0.2.7', allowed: true },
  { name: 'an IPv4-mapped address within', list: ['10.0.0.0/8'], address: '::ffff:10.1.2.3', allowed: true },
  { name: 'an IPv6 address within', list: ['2001:db8::/32'], address: '2001:db8::1', allowed: true },
  { name: 'an IPv6 address outside', list: ['2001:db8::/32'], address: '2001:db9::1', allowed: false },
  { name: '::/0 allows IPv6', list: ['::/0'], address: '2001:db8::1', allowed: true },
  { name: '::/0 does not allow IPv4', list: ['::/0'], address: '203.0.113.1', allowed: false },
  { name: '::/0 does not allow mapped IPv4', list: ['::/0'], address: '::ffff:203.0.113.1', allowed: false },
  {
    name: '::/0 does not allow it in hex either',
    list: ['::/0'],
    address: '::ffff:cb00:7101',
    allowed: false,
  },
  { name: 'a range that holds all mapped ones', list: ['::/64'], address: '203.0.113.1', allowed: false },
  { name: 'a mapped range', list: ['::ffff:10.0.0.0/104'], address: '10.1.2.3', allowed: true },
  { name: 'outside of a mapped range', list: ['::ffff:10.0.0.0/104'], address: '11.1.2.3', allowed: false },
  { name: 'all mapped addresses', list: ['::ffff:0:0/96'], address: '203.0.113.1', allowed: true },
  { name: 'no IPv6 address is mapped', list: ['::ffff:0:0/96'], address: '2001:db8::1', allowed: false },
  { name: 'a mapped address', list: ['::ffff:192.0.2.7'], address: '192.0.2.7', allowed: true },
  { name: 'an empty list allows nobody', list: [], address: '127.0.0.1', allowed: false },
  { name: 'an address that is none', list: ['0.0.0.0/0'], address: 'unknown', allowed: false },
];

for (const { name, list, address, allowed } of cases) {
  t.test(name, async (t) => {
    t.equal(isAddressAllowed({ key: keyWith(list), parent: undefined }, address), allowed);
  });
}
