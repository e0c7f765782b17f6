import t from 'tap';
import { basicOf, parseToken } from '../../src/credentials/token-endpoint.ts';

const answer = (fields: unknown, status = 200) =>
  parseToken(status, Buffer.from(typeof fields === 'string' ? fields : JSON.stringify(fields)));
const good = { access_token: 'a.token-of_36~chars+/==', token_type: 'Bearer', expires_in: 3600 };

t.test('takes what RFC 6749 says', async (t) => {
  t.same(answer(good), { text: good.access_token, validMs: 3_600_000, toldMs: 3_600_000 });
  t.same(answer({ ...good, token_type: 'bearer', scope: 'a b', extra: {} }).validMs, 3_600_000);
  t.equal(answer({ ...good, expires_in: undefined }).validMs, 300_000, 'five minutes where it does not say');
  t.equal(answer({ ...good, expires_in: null }).validMs, 300_000);
  t.equal(answer({ ...good, expires_in: '3599' }).validMs, 3_599_000, 'as a text');
  t.equal(answer({ ...good, expires_in: 1e300 }).validMs, 86_400_000, 'a day at most');
  t.equal(answer({ ...good, expires_in: 1e6 }).toldMs, 1e9, 'it may be shown for longer');
  t.equal(answer({ ...good, expires_in: null }).toldMs, 3_600_000);
  t.equal(answer({ ...good, access_token: 'x'.repeat(16_384) }).text.length, 16_384);
});

const refused: Record<string, unknown> = {
  nothing: '',
  'no JSON': 'access_token=a&token_type=bearer',
  'half of it': '{"access_token":"a","token_type":"Bea',
  'a list': [good],
  'a text': '"token"',
  null: 'null',
  'too deep a nesting': '['.repeat(60_000),
  'no token': { token_type: 'Bearer' },
  'an empty token': { ...good, access_token: '' },
  'a token that is a list': { ...good, access_token: ['a'] },
  'a token of two lines': { ...good, access_token: 'a\r\nX-Evil: b' },
  'a token with a space': { ...good, access_token: 'a b' },
  'a token beyond ASCII': { ...good, access_token: '\u20ac' },
  'a token of many kilobytes': { ...good, access_token: 'x'.repeat(16_385) },
  'no type': { access_token: 'a' },
  'another type': { ...good, token_type: 'mac' },
  'a type that is none': { ...good, token_type: {} },
  'an end in the past': { ...good, expires_in: 0 },
  'a negative time': { ...good, expires_in: -1 },
  'a time that is a list': { ...good, expires_in: [3600] },
  'a time that is a word': { ...good, expires_in: 'soon' },
};
for (const [name, fields] of Object.entries(refused))
  t.test(`refuses an answer with ${name}, and quotes nothing of it`, async (t) => {
    t.throws(() => answer(fields), {
      code: 'CREDENTIAL_UNAVAILABLE',
      message: /^The token endpoint answered (?:no|a token of|an expires_in)[a-zA-Z _]*\.$/,
    });
  });

t.test('says why there is no token by status and code alone', async (t) => {
  const message = (fields: unknown, status: number): string => {
    try {
      return JSON.stringify(answer(fields, status));
    } catch (error) {
      return (error as Error).message;
    }
  };
  t.equal(message({ error: 'invalid_client' }, 401), 'The token endpoint answered 401 (invalid_client).');
  t.equal(message({ error: 'the secret is hunter2' }, 400), 'The token endpoint answered 400.');
  t.equal(message('<html>', 502), 'The token endpoint answered 502.');
  t.equal(message(good, 302), 'The token endpoint answered 302.', 'and no redirect is followed');
});

t.test('writes name and password of the client as a form does, before it encodes them', async (t) => {
  const sent = (clientId: string, clientSecret: string) =>
    Buffer.from(basicOf(clientId, clientSecret), 'base64').toString();
  t.equal(sent('bot', 'secret-1_2.3'), 'bot:secret-1_2.3');
  t.equal(sent('a:b', 'c d+e/%\u00e9'), 'a%3Ab:c+d%2Be%2F%25%C3%A9');
});
