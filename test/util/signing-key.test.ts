import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import t from 'tap';
import { parseSigningKey } from '../../src/util/signing-key.ts';

type Keys = { readonly privateKey: KeyObject; readonly publicKey: KeyObject };
const pem = ({ privateKey }: Keys, type: 'pkcs8' | 'sec1' | 'pkcs1' = 'pkcs8'): string =>
  String(privateKey.export({ type, format: 'pem' }));
const ec = (namedCurve: string): Keys => generateKeyPairSync('ec', { namedCurve });

const ed25519 = generateKeyPairSync('ed25519');
const taken: Record<string, [text: string, algorithm: string]> = {
  'RSA of 2048 bits': [pem(generateKeyPairSync('rsa', { modulusLength: 2048 })), 'RS256'],
  'RSA in PKCS #1': [pem(generateKeyPairSync('rsa', { modulusLength: 2048 }), 'pkcs1'), 'RS256'],
  'P-256': [pem(ec('P-256')), 'ES256'],
  'P-384 in SEC 1': [pem(ec('P-384'), 'sec1'), 'ES384'],
  'P-521': [pem(ec('P-521')), 'ES512'],
  Ed25519: [pem(ed25519), 'EdDSA'],
};
for (const [name, [text, algorithm]] of Object.entries(taken))
  t.test(`a key of ${name} signs`, async (t) => {
    const found = parseSigningKey(text);
    t.match(found, { algorithm });
    t.equal(found?.key.extractable, false);
    t.same(found?.key.usages, ['sign']);
  });

const refused: Record<string, string> = {
  'no text': '',
  'a text that is no key': 'hunter2',
  'a public key': String(ed25519.publicKey.export({ type: 'spki', format: 'pem' })),
  'RSA of 1024 bits': pem(generateKeyPairSync('rsa', { modulusLength: 1024 })),
  'a curve that tokens have no name for': pem(ec('secp256k1')),
  'a key that only agrees on keys': pem(generateKeyPairSync('x25519')),
  'a key with a passphrase': String(
    ed25519.privateKey.export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' }),
  ),
};
for (const [name, text] of Object.entries(refused))
  t.test(`${name} is refused`, async (t) => {
    t.equal(parseSigningKey(text), undefined);
  });
