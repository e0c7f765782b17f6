import t from 'tap';
import { GatewayError } from '../../src/core/errors.ts';
import { IssuedTokens } from '../../src/credentials/issued-tokens.ts';
import type { AccessToken } from '../../src/credentials/token-endpoint.ts';
import { createTokenSource } from '../../src/credentials/token-source.ts';

/** A token endpoint whose answers the test gives, and a clock that it sets. */
function startSource() {
  const asked: PromiseWithResolvers<AccessToken>[] = [];
  const failures: string[] = [];
  let nowMs = 1_000_000;
  const source = createTokenSource({
    fetch() {
      const answer = Promise.withResolvers<AccessToken>();
      asked.push(answer);
      return answer.promise;
    },
    issued: new IssuedTokens(),
    now: () => nowMs,
    onFailure: ({ message }) => failures.push(message),
  });
  return {
    source,
    asked,
    failures,
    pass(seconds: number) {
      nowMs += seconds * 1000;
    },
    answer: async (text: string, validSeconds = 3600) => {
      asked.at(-1)?.resolve({ text, validMs: validSeconds * 1000, toldMs: validSeconds * 1000 });
      await settled();
    },
    fail: async () => {
      asked.at(-1)?.reject(new GatewayError('CREDENTIAL_UNAVAILABLE', 'the endpoint is away'));
      await settled();
    },
  };
}

/** What was resolved has reached whoever waits for it. */
const settled = () => new Promise((resolve) => setImmediate(resolve));
/** Also of what is answered, or thrown, at once. */
const take = async (source: { take(): string | Promise<string> }): Promise<string> => source.take();

t.test('asks once for however many calls, and keeps what it got', async (t) => {
  const { source, asked, answer } = startSource();
  const waiting = Array.from({ length: 100 }, () => take(source));
  t.equal(asked.length, 1);
  await answer('one');
  t.same(new Set(await Promise.all(waiting)), new Set(['one']));
  t.equal(source.take(), 'one', 'at once');
  t.equal(asked.length, 1);
});

t.test('fetches the next token before the end of this one, and nobody waits for it', async (t) => {
  const { source, asked, answer, pass } = startSource();
  const first = take(source);
  await answer('one', 3600);
  await first;
  pass(3539);
  t.equal(source.take(), 'one');
  t.equal(asked.length, 1, 'it is not yet time');
  pass(1);
  t.equal(source.take(), 'one');
  t.equal(source.take(), 'one');
  t.equal(asked.length, 2, 'one is under way');
  await answer('two');
  t.equal(source.take(), 'two');
  t.same(source.known, ['two', 'one'], 'an upstream may show both');
});

t.test('uses no token that ends on the way', async (t) => {
  const { source, asked, answer, pass } = startSource();
  const first = take(source);
  await answer('one', 3600);
  await first;
  pass(3595);
  const next = take(source);
  t.equal(asked.length, 2);
  await answer('two');
  t.equal(await next, 'two');
});

t.test('of a token that is valid for seconds keeps a share', async (t) => {
  const { source, asked, answer, pass } = startSource();
  const first = take(source);
  await answer('one', 10);
  await first;
  pass(7);
  t.equal(source.take(), 'one');
  t.equal(asked.length, 1);
  pass(1);
  t.equal(source.take(), 'one');
  t.equal(asked.length, 2);
});

t.test('goes on with a token that is valid while the endpoint fails, and asks less and less', async (t) => {
  const { source, asked, answer, fail, pass, failures } = startSource();
  const first = take(source);
  await answer('one', 3600);
  await first;
  pass(3541);
  t.equal(source.take(), 'one');
  await fail();
  for (let i = 0; i < 50; i += 1) t.equal(source.take(), 'one');
  t.equal(asked.length, 2, 'no storm');
  pass(1);
  t.equal(source.take(), 'one');
  t.equal(asked.length, 3, 'after a second again');
  await fail();
  pass(1);
  source.take();
  t.equal(asked.length, 3);
  pass(1);
  source.take();
  t.equal(asked.length, 4, 'and then after two');
  await fail();
  t.equal(failures.length, 3, 'each is told to the log');
});

t.test('fails at once while it may not ask again, and says why and for how long', async (t) => {
  const { source, asked, fail, pass } = startSource();
  const waiting = Array.from({ length: 5 }, () => take(source));
  const refused = Promise.all(
    waiting.map((it) => t.rejects(it, { code: 'CREDENTIAL_UNAVAILABLE', message: /is away/ })),
  );
  await fail();
  await refused;
  await t.rejects(take(source), {
    code: 'CREDENTIAL_UNAVAILABLE',
    message: /is away/,
    extra: { retryAfterSeconds: 1 },
  });
  t.equal(asked.length, 1);
  for (let i = 0; i < 20; i += 1) {
    pass(60);
    const next = t.rejects(take(source));
    await fail();
    await next;
  }
  t.equal(asked.length, 21, 'a minute is the longest pause');
});

t.test('throws away a token that an upstream refuses, but not a young one, nor another one', async (t) => {
  const { source, asked, answer, pass } = startSource();
  const first = take(source);
  await answer('one');
  await first;
  source.refuse('one');
  t.equal(source.take(), 'one', 'an agent that makes an upstream answer 401 asks for no storm');
  pass(30);
  source.refuse('older');
  t.equal(source.take(), 'one');
  source.refuse('one');
  const next = take(source);
  t.equal(asked.length, 2);
  await answer('two');
  t.equal(await next, 'two');
  source.refuse('one');
  t.equal(source.take(), 'two');
});

t.test('knows every token that is still valid, and asks for no more than it can know', async (t) => {
  const { source, asked, answer, pass } = startSource();
  const texts = Array.from({ length: 20 }, (_, i) => `token ${i}`);
  for (const text of texts) {
    const next = take(source);
    if (asked.length <= texts.indexOf(text)) break;
    await answer(text, 3600);
    await next;
    pass(30);
    source.refuse(text);
  }
  t.same(source.known, texts.slice(0, 16).toReversed(), 'an agent that makes an upstream answer 401');
  t.equal(source.take(), 'token 15', 'goes on with the last one');
  pass(3600 - 16 * 30 + 60);
  t.equal(source.known.length, 15, 'the first one has ended, also for an upstream whose clock is late');
  source.refuse('token 15');
  const next = take(source);
  await answer('at last');
  t.equal(await next, 'at last', 'and there is room for another');
});
