import t from 'tap';
import { Gathered } from '../../../src/wire/http1/gathered.ts';
import { allocateRoomy, headRoomBytes, withHead } from '../../../src/wire/http1/head-room.ts';

const head = 'POST / HTTP/1.1\r\nhost: caf\xe9\r\n\r\n';

t.test('a head is put before a body without a copy of the body', async (t) => {
  const body = allocateRoomy(5);
  body.write('hello');
  const whole = withHead(head, body);
  t.equal(whole?.toString('latin1'), `${head}hello`);
  t.equal(whole?.buffer, body.buffer);
  t.equal(withHead('GET ', body)?.toString('latin1'), 'GET hello', 'and another one after it');
  t.equal(body.toString(), 'hello');
});

t.test('a head that just fits is put there, and a longer one is not', async (t) => {
  const body = allocateRoomy(1).fill('x');
  t.equal(withHead('h'.repeat(headRoomBytes), body)?.length, headRoomBytes + 1);
  t.equal(withHead('h'.repeat(headRoomBytes + 1), body), undefined);
});

t.test('what has no room of its own before it is never written to', async (t) => {
  const neighbour = Buffer.from('neighbour, and a body');
  t.equal(withHead('head', neighbour.subarray(11)), undefined);
  const body = allocateRoomy(8).fill('y');
  t.equal(withHead('head', body.subarray(4)), undefined, 'nor a part of a body that has some');
  t.equal(neighbour.toString(), 'neighbour, and a body');
});

t.test('a body that comes in pieces has the room if it comes as long as it was said to be', async (t) => {
  const gather = (expectedBytes: number): Buffer => {
    const gathered = new Gathered(expectedBytes);
    for (const piece of ['ab', 'cd', 'ef']) gathered.add(Buffer.from(piece));
    return gathered.take();
  };
  t.equal(withHead('>', gather(6))?.toString(), '>abcdef');
  t.equal(withHead('>', gather(0)), undefined);
  t.equal(withHead('>', gather(9)), undefined, 'a part of it has not');
});
