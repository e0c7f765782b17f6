import { METHODS } from 'node:http';
import t, { type Test } from 'tap';
import { readRequestsWithNode, readResponsesWithNode } from './node-reading.ts';
import { mutate, Random, randomRequest, randomResponse } from './random.ts';
import { type Message, type Reading, readRequests, readResponse } from './read-messages.ts';

/*
 * Requests are smuggled where two readers of the same bytes disagree. Here the other reader is node's: whatever both accept must be the
 * same to both, and what only this codec accepts has its reason below. What only node accepts is strictness of ours.
 */

const count = 400;
const next = 'GET /next HTTP/1.1\r\nHost: h\r\n\r\n';

/** By the code of node's refusal: why a message that we accept may be one that it does not. */
const explained: Record<string, (message: Message, text: string) => boolean> = {
  // Any token is a method here (RFC 9110, 9.1); which of them are served is for the server to say.
  HPE_INVALID_METHOD: ({ start }) => !METHODS.includes(start[0] ?? ''),
  // A target is judged where it is parsed, with one parser for all entrances.
  HPE_INVALID_URL: ({ start }) => !/^[/*]/.test(start[1] ?? ''),
  // In trailers and interim answers node heeds a Connection field; to us they are not about the connection.
  HPE_CLOSED_CONNECTION: (_message, text) => /\nConnection:/i.test(text) || /^HTTP\/1.0 1/.test(text),
};

function compare(t: Test, text: string, ours: Reading, theirs: Reading): void {
  const shown = JSON.stringify(text);
  const both = Math.min(ours.messages.length, theirs.messages.length);
  t.same(ours.messages.slice(0, both), theirs.messages.slice(0, both), shown);
  const refused = ours.messages[both];
  if (refused) t.ok(explained[theirs.refusal]?.(refused, text), `${theirs.refusal || 'not read'}: ${shown}`);
}

t.test('requests are to us what they are to node', async (t) => {
  const seed = 9_112;
  t.comment(`seed ${seed}`);
  const random = new Random(seed);
  const texts = Array.from({ length: count }, (_none, i) => {
    const request = randomRequest(random);
    return (i % 4 === 0 ? request : mutate(random, request)) + next;
  });
  const theirs = await readRequestsWithNode(texts);
  let accepted = 0;
  for (const [i, text] of texts.entries()) {
    const ours = readRequests(text);
    if (i % 4 === 0) t.equal(ours.messages.length, 2, `unchanged: ${JSON.stringify(text)}`);
    compare(t, text, ours, theirs[i] as Reading);
    accepted += Math.min(ours.messages.length, theirs[i]?.messages.length ?? 0);
  }
  t.ok(accepted > count / 4, `both accepted ${accepted}`);
});

t.test('answers are to us what they are to node', async (t) => {
  const seed = 9_110;
  t.comment(`seed ${seed}`);
  const random = new Random(seed);
  const texts = Array.from({ length: count }, (_none, i) => {
    const response = randomResponse(random);
    return i % 4 === 0 ? response : mutate(random, response);
  });
  const ours = texts.map(readResponse);
  // Node's client is sent no more than what we take for the answer: to it, too, that has to be the whole.
  const sent = texts.map((text, i) => (ours[i]?.messages.length ? text.slice(0, ours[i]?.end) : text));
  const theirs = await readResponsesWithNode(sent);
  let accepted = 0;
  for (const [i, text] of sent.entries()) {
    if (i % 4 === 0) t.equal(ours[i]?.messages.length, 1, `unchanged: ${JSON.stringify(text)}`);
    compare(t, text, ours[i] as Reading, theirs[i] as Reading);
    accepted += Math.min(ours[i]?.messages.length ?? 0, theirs[i]?.messages.length ?? 0);
  }
  t.ok(accepted > count / 4, `both accepted ${accepted}`);
});

t.test('no known way to smuggle a request gets through', async (t) => {
  const inner = 'GET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n';
  const post = (fields: string, body: string) => `POST / HTTP/1.1\r\nHost: h\r\n${fields}\r\n\r\n${body}`;
  const chunkedPost = (body: string) => post('Transfer-Encoding: chunked', body);
  const both = (coding: string) =>
    post(`Content-Length: ${5 + inner.length}\r\n${coding}`, `0\r\n\r\n${inner}`);
  const size = inner.length.toString(16);
  const attacks: Record<string, string> = {
    'CL.TE': both('Transfer-Encoding: chunked'),
    'TE.CL': post('Transfer-Encoding: chunked\r\nContent-Length: 4', `${size}\r\n${inner}\r\n0\r\n\r\n`),
    'TE behind a vertical tab': both('Transfer-Encoding:\x0bchunked'),
    'TE behind a no-break space': both('Transfer-Encoding:\xa0chunked'),
    'TE before a tab': both('Transfer-Encoding: chunked\t'),
    'TE before a colon and a space': both('Transfer-Encoding : chunked'),
    'TE in a folded line': both('Transfer-Encoding:\r\n chunked'),
    'TE behind a folded line': both('X: y\r\n Transfer-Encoding: chunked'),
    'TE behind a bare LF': both('X: y\nTransfer-Encoding: chunked'),
    'TE behind a bare CR': both('X: y\rTransfer-Encoding: chunked'),
    'TE behind NUL': both('X: y\0Transfer-Encoding: chunked'),
    'TE twice': both('Transfer-Encoding: identity\r\nTransfer-Encoding: chunked'),
    'TE in a list': both('Transfer-Encoding: identity, chunked'),
    'TE quoted': both('Transfer-Encoding: "chunked"'),
    'TE named in Connection': both('Connection: transfer-encoding\r\nTransfer-Encoding: chunked'),
    'CL named in Connection': both('Connection: content-length\r\nTransfer-Encoding: chunked'),
    'CL.CL': post(`Content-Length: 0\r\nContent-Length: ${inner.length}`, inner),
    'CL in a list': post(`Content-Length: 0, ${inner.length}`, inner),
    'CL with a sign': post(`Content-Length: +${inner.length}`, inner),
    'CL with an underscore': post('Content-Length: 1_0', inner),
    'CL in hexadecimal': post(`Content-Length: 0x${size}`, inner),
    'CL behind a space in its name': post(`Content-Length : ${inner.length}`, inner),
    'CL beyond 53 bits': post('Content-Length: 18446744073709551616', inner),
    'CL behind a form feed': post(`Content-Length: \x0c${inner.length}`, inner),
    'chunked in HTTP/1.0': `POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${inner}`,
    'a chunk size in two notations': chunkedPost(`0x${size}\r\n${inner}\r\n0\r\n\r\n`),
    'a chunk size behind a space': chunkedPost(` ${size}\r\n${inner}\r\n0\r\n\r\n`),
    'a chunk size that overflows': chunkedPost(`10000000000000000${size}\r\n${inner}\r\n0\r\n\r\n`),
    'an extension with a bare LF': chunkedPost(`2;\nxx\r\n${size}\r\n0\r\n\r\n${inner}\r\n0\r\n\r\n`),
    'an extension with a bare CR': chunkedPost(`2;x\rxx\r\n${size}\r\n0\r\n\r\n${inner}\r\n0\r\n\r\n`),
    'an extension with a quoted line end': chunkedPost(`1;x="\r\n0\r\n\r\n${inner}"\r\na\r\n0\r\n\r\n`),
    'a chunk that ends in any two bytes': chunkedPost(`1\r\naXX${size}\r\n${inner}\r\n0\r\n\r\n`),
    'a chunk that ends in LF': chunkedPost(`1\r\na\n${size}\r\n${inner}\r\n0\r\n\r\n`),
    'trailers behind a bare LF': chunkedPost(`0\n\r\n${inner}`),
    'a length in trailers': chunkedPost(`0\r\nContent-Length: ${inner.length}\r\n\r\n${inner}`),
    'a head that ends in LF LF': `GET / HTTP/1.1\nHost: h\n\n${inner}`,
    'a version in lower case': `GET / http/1.1\r\nHost: h\r\n\r\n${inner}`,
    'a line end in a target': `GET /\r\nX: HTTP/1.1\r\nHost: h\r\n\r\n${inner}`,
    'a second target': `GET / HTTP/1.1\r\n HTTP/1.1\r\nHost: h\r\n\r\n${inner}`,
    'an empty line first': `\r\n${inner}`,
  };
  const texts = Object.values(attacks);
  const theirs = await readRequestsWithNode(texts);
  for (const [i, [name, text]] of Object.entries(attacks).entries()) {
    const ours = readRequests(text);
    t.same(ours.messages, [], name);
    t.not(ours.refusal, '', `${name}: is refused`);
    compare(t, text, ours, theirs[i] as Reading);
  }
});
