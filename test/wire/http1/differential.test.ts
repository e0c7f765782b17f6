import { randomInt } from 'node:crypto';
import { METHODS } from 'node:http';
import { isDeepStrictEqual } from 'node:util';
import t, { type Test } from 'tap';
import { BodyReader, chunked, untilClose } from '../../../src/wire/http1/body.ts';
import { fieldOf } from '../../../src/wire/http1/field.ts';
import { emptyLineBytes, findHeadEnd, parseResponseHead } from '../../../src/wire/http1/head.ts';
import { roomyLimits } from '../server/lab.ts';
import type { Message, Reading } from './node-reader.ts';
import { cut, mutate, Random, randomConnection, randomResponse } from './random.ts';
import { type Lane, openLanes, type Passage, stalled } from './two-parsers.ts';

/*
 * Requests are smuggled where two readers of the same bytes disagree. The gate is given connections that no two runs have in common, cut
 * anywhere, for a fixed time. What it judged has to be what leaves, to a plain reading of the bytes and to a second parser. What both the
 * codec and another parser accept of what came has to be the same to both; what only the codec accepts has its reason below.
 *
 * A failure names its seed: `CODEC_SEED=… node test/http1/differential.test.ts` begins with that case. `CODEC_SECONDS` sets the time.
 */
const seed = Number(process.env['CODEC_SEED'] ?? randomInt(2 ** 31));
const boxMs = Number(process.env['CODEC_SECONDS'] ?? 8) * 1000;
const lanesCount = 6;
/** On a machine however slow; and where so many cases fail, no more are looked for. */
const casesMin = 200;
const failuresMax = 5;

type Problem = { readonly what: string; readonly of: Readonly<Record<string, unknown>> };

/** Runs cases in all lanes until their time is over. Of a case that fails, its seed and all about it are told. */
async function fuzz(
  t: Test,
  share: number,
  run: (
    lane: Lane,
    random: Random,
    hasHaproxy: boolean,
  ) => Promise<{ accepted: number; problems: Problem[] }>,
): Promise<void> {
  // At once, so that a crash or a case without an end has its seed too.
  t.comment(`CODEC_SEED=${seed}`);
  const { lanes, hasHaproxy } = await openLanes(t, lanesCount);
  const endMs = performance.now() + boxMs * share;
  let cases = 0;
  let accepted = 0;
  const failures: Problem[] = [];
  const work = async (lane: Lane): Promise<void> => {
    while (failures.length < failuresMax && (performance.now() < endMs || cases < casesMin)) {
      const own = (seed + cases++) % 2 ** 31;
      const result = await run(lane, new Random(own), hasHaproxy);
      accepted += result.accepted;
      for (const { what, of } of result.problems) failures.push({ what: `CODEC_SEED=${own}: ${what}`, of });
    }
  };
  await Promise.all(lanes.map(work));
  t.comment(`${cases} cases, ${accepted} messages accepted`);
  for (const { what, of } of failures) t.fail(what, { of: JSON.stringify(of) });
  t.ok(accepted > cases / 4, `CODEC_SEED=${seed}: ${accepted} messages of ${cases} cases were accepted`);
}

const folded = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]/g, '-');
/** About one connection, or made anew by the gateway. */
const isOfConnection = (name: string): boolean =>
  /^(?:connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|http2-settings|host|content-length|expect)$/.test(
    folded(name),
  );

/** As lines, without those of the connection, since a parser may write names in its own case and cut the white space at the ends. */
const endToEnd = (fields: readonly string[]): string[] =>
  fields.flatMap((name, i) =>
    i % 2 === 0 && !isOfConnection(name) ? [`${name.toLowerCase()}: ${fields[i + 1]}`] : [],
  );

const leavingHead = /^([A-Z-]+) ([!-~]+) HTTP\/1\.1\r\n((?:[^\r\n:]+: [^\r\n]*\r\n)*)\r\n/;

/** The plainest reading there is: one form of head, and one way to say how long the body is. Undefined where that is not all. */
function readPlainly(text: string): Message[] | undefined {
  const messages: Message[] = [];
  for (let at = 0; at < text.length; ) {
    const [head = '', method = '', target = '', lines = ''] = leavingHead.exec(text.slice(at)) ?? [];
    if (head === '') return undefined;
    const fields = [...lines.matchAll(/([^:]+): ([^\r]*)\r\n/g)].flatMap(([, name, value]) => [
      name ?? '',
      value ?? '',
    ]);
    const lengths = fields.filter(
      (_text, i) => fields[i - 1]?.toLowerCase() === 'content-length' && i % 2 === 1,
    );
    const length = Number(lengths[0] ?? 0);
    if (lengths.length > 1 || /^transfer-encoding:/im.test(lines)) return undefined;
    at += head.length + length;
    if (at > text.length) return undefined;
    messages.push({ start: [method, target], fields, body: text.slice(at - length, at), trailers: [] });
  }
  return messages;
}

/** What leaves for what was judged, but for the fields of the connection. */
const toLeaving = ({ start, fields, body }: Message) => ({
  start,
  fields: [...endToEnd(fields), 'via: 1.1 postern'],
  body,
});
const asRead = ({ start, fields, body }: Message) => ({ start, fields: endToEnd(fields), body });

/** By the code of node's refusal: why a message that we accept may be one that it does not. */
const explained: Record<string, (message: Message, text: string) => boolean> = {
  // Any token is a method here (RFC 9110, 9.1); which of them are served is for the server to say.
  HPE_INVALID_METHOD: ({ start }) => !METHODS.includes(start[0] ?? ''),
  // A target is judged where it is parsed, with one parser for all entrances. Bytes beyond ASCII are percent-encoded.
  HPE_INVALID_URL: ({ start: [, target = ''] }, text) =>
    !/^[/*]/.test(target) || (/%[89A-F]/.test(target) && /[\x80-\xff]/.test(text)),
  // Node heeds a Connection field in trailers and interim answers, and Proxy-Connection; to us none of them is about the connection.
  HPE_CLOSED_CONNECTION: (_message, text) =>
    /\n(?:Proxy-)?Connection:/i.test(text) || /^HTTP\/1.0 1/.test(text),
  // Node's server neither answers nor closes behind some chunked bodies of requests for another protocol.
  [stalled]: (_message, text) => /\nUpgrade:/i.test(text) && /\nTransfer-Encoding:/i.test(text),
};

/** What was judged is what leaves, in the words of the bytes and of the second parser, and nothing else does. */
function compareLeaving(
  { judged, left, read, statuses, hasGoneOn, failures }: Passage,
  authority: string,
): Problem[] {
  const problems: Problem[] = [];
  const expect = (what: string, isSo: boolean): void => {
    if (!isSo) problems.push({ what, of: { judged, left, read, statuses, failures } });
  };
  const expected = judged.map(toLeaving);
  const plain = readPlainly(left);
  expect('what was judged is what the bytes say', isDeepStrictEqual(plain?.map(asRead), expected));
  expect(
    'what was judged is what the second parser says',
    isDeepStrictEqual(read.messages.map(asRead), expected),
  );
  expect('it refuses nothing', read.refusal === '' && failures.length === 0);
  const hosts = plain?.map(({ fields }) => fields.filter((_text, i) => /^host$/i.test(fields[i - 1] ?? '')));
  expect(
    'one Host leaves',
    isDeepStrictEqual(
      hosts,
      judged.map(() => [authority]),
    ),
  );
  expect('each is answered', statuses.filter((it) => it === 204).length === judged.length);
  expect('nothing behind a refusal is read', !hasGoneOn);
  return problems;
}

/** haproxy leaves out the port of an absolute-form that is empty or the scheme's own, which say the same as none (RFC 3986, 6.2.3). */
const withoutOwnPort = ({ start: [method = '', target = ''], ...rest }: Message): Message => ({
  start: [method, target.replace(/^(http:\/\/[^/?#]*):(?:80)?(?=[/?#]|$)/i, '$1')],
  ...rest,
});

/** What came is to the codec what it is to another parser, as far as both accept it. */
function compareComing(came: readonly Message[], theirs: Reading, what: string): Problem[] {
  const both = Math.min(came.length, theirs.messages.length);
  const ours = came.slice(0, both).map(withoutOwnPort).map(asRead);
  const others = theirs.messages.slice(0, both).map(withoutOwnPort).map(asRead);
  return isDeepStrictEqual(ours, others) ? [] : [{ what, of: { ours, others } }];
}

t.test('what was judged is what leaves, to a plain reading and to a second parser', async (t) => {
  await fuzz(t, 0.6, async (lane, random, hasHaproxy) => {
    const text = randomConnection(random);
    const bytes = Buffer.from(text, 'latin1');
    const passage = await lane.pass(cut(random, bytes));
    // An expectation that nobody can meet is answered before the request is handed on.
    const unmetAt = passage.statuses.indexOf(417);
    const came = unmetAt < 0 ? passage.came : passage.came.slice(0, unmetAt);
    const problems = compareLeaving(passage, lane.authority);
    const whole = await lane.pass([bytes]);
    if (!isDeepStrictEqual([whole.came, whole.statuses], [passage.came, passage.statuses])) {
      problems.push({ what: 'it is read alike however it is cut', of: { whole, passage } });
    }
    const byNode = await lane.readWithNode(bytes);
    problems.push(...compareComing(came, byNode, "what came is what Node's server reads"));
    const refused = came[byNode.messages.length];
    if (refused && !explained[byNode.refusal]?.(refused, text)) {
      problems.push({ what: "Node's server has no reason to refuse", of: { refused, byNode } });
    }
    if (unmetAt < 0 && came.length < byNode.messages.length && !passage.isClosed) {
      problems.push({ what: 'a request that is not read ends the connection', of: { came, byNode } });
    }
    if (came.slice(0, -1).some(({ fields }) => fieldOf(fields, 'upgrade') !== '')) {
      problems.push({ what: 'nothing is read behind a request for another protocol', of: { came } });
    }
    if (hasHaproxy) {
      const byHaproxy = await lane.readWithHaproxy(bytes);
      // What Node's server refuses behind haproxy is missing among what it tells; a half request at the end is not.
      if (byHaproxy.refusal === '' || byHaproxy.refusal === 'HPE_INVALID_EOF_STATE')
        problems.push(...compareComing(came, byHaproxy, 'what came is what haproxy reads'));
    }
    return {
      accepted: passage.judged.length,
      problems: problems.map(({ what, of }) => ({ what, of: { text, ...of } })),
    };
  });
});

/** Names that the answers below make up; others may be the gateway's to drop. */
const ownFields = (fields: readonly string[]): string[] =>
  endToEnd(fields).filter((line) => /^x-(?!service-)/.test(line));
const asAnswer = ({ start, fields, body, trailers }: Message) => ({
  start,
  fields: ownFields(fields),
  body,
  trailers: ownFields(trailers),
});

/** Behind it the upstream may have sent more, which no client asked for: Node's client would drop the answer for that. */
function answerEnd(bytes: Buffer): number {
  for (let at = 0; ; ) {
    const bodyAt = findHeadEnd(bytes, at) + emptyLineBytes;
    const head = parseResponseHead(bytes.toString('latin1', at, bodyAt - 2), roomyLimits.maxHeaders);
    at = bodyAt;
    if (head.status < 200) continue;
    const { status, isChunked, contentLength } = head;
    if (status === 204 || status === 304) return at;
    const length = isChunked ? chunked : contentLength < 0 ? untilClose : contentLength;
    return new BodyReader(length).read(Buffer.from(bytes), at, () => {});
  }
}

t.test('an agent is given the answer that other parsers read', async (t) => {
  await fuzz(t, 0.4, async (lane, random, hasHaproxy) => {
    const plain = randomResponse(random);
    const text = random.chance(4) ? plain : mutate(random, plain);
    const bytes = Buffer.from(text, 'latin1');
    const pieces = cut(random, bytes);
    const { messages, refusal } = await lane.answerThroughGate(pieces);
    const problems: Problem[] = [];
    const [ours] = messages.map(asAnswer);
    if (text === plain && !ours)
      problems.push({ what: 'a sound answer is passed on', of: { text, refusal } });
    if (!ours) return { accepted: 0, problems };
    const byNode = await lane.answerToNode([bytes.subarray(0, answerEnd(bytes))]);
    const [other] = byNode.messages.map(asAnswer);
    const isExplained = !other && explained[byNode.refusal]?.(messages[0] as Message, text);
    if (!isExplained && !isDeepStrictEqual(ours, other)) {
      problems.push({ what: "it is the answer that Node's client reads", of: { text, ours, byNode } });
    }
    // Behind an interim answer haproxy takes for the whole what it reads at once.
    if (hasHaproxy && !/^HTTP\/1\.[01] 1/.test(text)) {
      const [third] = (await lane.answerThroughHaproxy(pieces)).messages.map(asAnswer);
      const isRefused = !third || (third.start[0] === '502' && ours.start[0] !== '502');
      if (!isRefused && !isDeepStrictEqual(ours, third)) {
        problems.push({ what: 'it is the answer that haproxy reads', of: { text, ours, third } });
      }
    }
    return { accepted: 1, problems };
  });
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
  };
  const { lanes } = await openLanes(t, 1);
  for (const [name, text] of Object.entries(attacks)) {
    const { came, left, read, statuses } = await (lanes[0] as Lane).pass([Buffer.from(text, 'latin1')]);
    t.same(
      { came, left, read: read.messages, statuses },
      { came: [], left: '', read: [], statuses: [400] },
      name,
    );
  }
});
