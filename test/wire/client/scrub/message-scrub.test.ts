import { randomBytes } from 'node:crypto';
import t from 'tap';
import { MessageScrub } from '../../../../src/wire/client/scrub/message-scrub.ts';
import { makeScrub } from '../../../../src/wire/client/scrub/scrub.ts';
import { takeSteps } from '../../../support/steps.ts';

const secret = randomBytes(20).toString('hex');
const asterisks = '*'.repeat(secret.length);
const scrub = takeSteps(makeScrub([secret])).result;

function frame(text: string): Buffer {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(text.length, 1);
  return Buffer.concat([prefix, Buffer.from(text)]);
}

t.test('each message goes on as soon as it is whole, in whatever pieces it comes', async (t) => {
  const messages = ['one', '', `two ${'x'.repeat(500)}`, '', 'three'];
  for (const size of [1, 3, 5, 64, 10_000]) {
    const body = new MessageScrub(scrub.message());
    for (const message of messages) {
      const bytes = frame(message);
      const sent: Buffer[] = [];
      for (let at = 0; at < bytes.length; at += size) sent.push(body.push(bytes.subarray(at, at + size)));
      t.same(Buffer.concat(sent), bytes, `${message.length} bytes in pieces of ${size}`);
    }
    t.equal(body.end().length, 0);
  }
});

t.test('the secret is found in each message, which keeps its length', async (t) => {
  const whole = Buffer.concat([frame(`a ${secret} b`), frame(secret), frame('clean')]);
  const want = [frame(`a ${secret} b`), frame(secret), frame('clean')]
    .map((it) => it.toString('latin1').replaceAll(secret, asterisks))
    .join('');
  for (const size of [1, 7, 10_000]) {
    const body = new MessageScrub(scrub.message());
    const sent: Buffer[] = [];
    for (let at = 0; at < whole.length; at += size) sent.push(body.push(whole.subarray(at, at + size)));
    t.equal(Buffer.concat([...sent, body.end()]).toString('latin1'), want);
  }
});

t.test('a message that is cut off is held back no longer than the body', async (t) => {
  const body = new MessageScrub(scrub.message());
  const half = frame('half a message').subarray(0, 9);
  const sent = body.push(half);
  t.same(Buffer.concat([sent, body.end()]), half);
});
