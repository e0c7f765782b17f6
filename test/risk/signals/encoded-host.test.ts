import t from 'tap';
import { noEvidence } from '../../../src/core/call.ts';
import { encodedHost } from '../../../src/risk/signals/encoded-host.ts';
import { callOf } from '../../support/call.ts';

const hex = (text: string): string => Buffer.from(text).toString('hex');
const isReported = (host: string): boolean =>
  encodedHost.assess(callOf({ url: `https://${host}/` }), noEvidence) !== undefined;

t.test('data in the labels of a host is reported', async (t) => {
  const tunnels = {
    'a text in hexadecimal': `${hex('customer list: ann')}.x.evil.example`,
    'in capital letters': `${hex('customer list: ann').toUpperCase()}.x.evil.example`,
    'a text over several labels': `${hex('api key ')}.${hex('is 42 a')}.x.evil.example`,
    'two labels that are short by themselves': `${hex('JohnDoe')}.${hex('Secret1')}.x.evil.example`,
    'labels of an odd length': `${hex('customer list: ann and bob')
      .match(/.{1,7}/g)
      ?.join('.')}.evil.example`,
    'a text with hyphens in it': `${hex('customer list: ann')
      .match(/.{1,8}/g)
      ?.join('-')}.evil.example`,
    'a text in base32hex': '855kiga99t9kcjq49p73ehao856l0j2579rkkobc.x.evil.example',
    'a text in base32 over labels that are short by themselves':
      'iffusqkjj5j.umt2ejzhdor.kyifgvatcfhj.x.evil.example',
    'a text in base32': `${'orugs4zanfzsa5dimuqhgzldojsxi'}.x.evil.example`,
    'many labels of hexadecimal data': `${Array.from({ length: 8 }, (_, at) => `9f${at}c${at}7e1`).join('.')}.x.evil.example`,
  };
  for (const [name, host] of Object.entries(tunnels)) t.ok(isReported(host), name);
});

t.test('names that clouds and networks give are not', async (t) => {
  const usual = [
    'api.github.com',
    'd111111abcdef8.cloudfront.net',
    '0a1b2c3d4e5f60718293a4b5c6d7e8f9.gr7.eu-west-1.eks.amazonaws.com',
    'ec2-203-0-113-25.eu-central-1.compute.amazonaws.com',
    'orders-7f9c6d5b4-x2x9k.orders.svc.cluster.local',
    'service-4k2jx7ytqa-ew.a.run.app',
    'bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi.ipfs.dweb.link',
    'b.a.9.8.7.6.5.4.3.2.1.0.ip6.arpa',
    '20251130101500.20251130101501.logs.example.com',
    'deadbeefdeadbeef.example.com',
    '[2001:db8::1]',
    '203.0.113.9',
  ];
  for (const host of usual) t.notOk(isReported(host), host);
});

t.test('of random identifiers in hexadecimal or base32 hardly any is a text', async (t) => {
  let seed = 7;
  const next = (): number => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0;
    return seed >>> 8;
  };
  const label = (alphabet: string, length: number): string =>
    Array.from({ length }, () => alphabet[next() % alphabet.length]).join('');
  let reported = 0;
  for (let i = 0; i < 20_000; i++) {
    if (isReported(`${label('0123456789abcdef', 20 + 2 * (i % 8))}.example.com`)) reported++;
    if (isReported(`${label('abcdefghijklmnopqrstuvwxyz234567', 16 + (i % 24))}.example.com`)) reported++;
  }
  t.ok(reported <= 4, `${reported} of 40,000`);
});
