/*
 * Does it leave innocent content alone? Sends bodies made of files that are installed here, in the ways in which agents send files, to a
 * gateway of its own under the stock posture, all by one agent with one key, and then each with a key of its own:
 * `npm run bench:benign -- [--seed N] [--bodies N] [--kind K] [--show N] [FOLDER…]`. Prints for each kind of content how many were held,
 * denied or rewritten, and why. Exits with 1 where there is one.
 */
import { parseArgs } from 'node:util';
import { type BenignFile, pathsBelow, readBenign, shuffled } from './benign/files.ts';
import { randomFrom } from './benign/random.ts';
import { binaryWays, type DescribedCall, takesMany, textWays } from './benign/ways.ts';
import { openOwnGateway } from './score/gateway.ts';

const { values, positionals } = parseArgs({
  options: {
    seed: { type: 'string' },
    bodies: { type: 'string', default: '3500' },
    kind: { type: 'string' },
    show: { type: 'string', default: '40' },
    keys: { type: 'string', default: 'one' },
  },
  allowPositionals: true,
});
const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 32));
const bodiesMin = Number(values.bodies);
const shownMax = Number(values.show);
const random = randomFrom(seed);
const askedAtOnce = 4;
/** In base64 it stays below the default limit of bodies. */
const fileBytesMax = 150_000;
const filesPerBodyMax = 5;
const installed = ['/usr/share', '/usr/lib', '/usr/include', '/usr/local/lib', '/etc', '/var/log', '/opt'];
const roots =
  positionals.length > 0 ? positionals : [new URL('../node_modules', import.meta.url).pathname, ...installed];

interface Sent {
  readonly kind: string;
  readonly way: string;
  readonly files: readonly BenignFile[];
  readonly call: DescribedCall;
}

const sent = bodiesOf();
console.log(
  `seed ${seed}, ${sent.length} bodies, ${sent.reduce((sum, it) => sum + it.files.length, 0)} files`,
);
const gateway = await openOwnGateway();
const rows = new Map<string, Record<string, number>>();
const reasons = new Map<string, number>();
const shown: string[] = [];
let wrong = 0;
const startedMs = performance.now();
try {
  const oneKey = await gateway.mintKey();
  const work = async (queue: Iterator<Sent>): Promise<void> => {
    for (let { value, done } = queue.next(); !done; { value, done } = queue.next()) {
      const key = values.keys === 'one' ? oneKey : await gateway.mintKey();
      judge(value, await gateway.post('/v1/scan', key, value.call));
    }
  };
  const queue = sent.values();
  await Promise.all(Array.from({ length: askedAtOnce }, () => work(queue)));
} finally {
  await gateway.close();
}
console.log(`${Math.round(performance.now() - startedMs)} ms`);
console.table(Object.fromEntries([...rows].sort(([a], [b]) => (a < b ? -1 : 1))));
console.table(Object.fromEntries([...reasons].sort(([, a], [, b]) => b - a)));
for (const line of shown.slice(0, shownMax)) console.log(line);
console.log(`${wrong} of ${sent.length} bodies were held, denied or rewritten (seed ${seed})`);
process.exitCode = wrong > 0 ? 1 : 0;

/** As many of each kind, each file once while there are enough. */
function bodiesOf(): Sent[] {
  const byKind = [...pathsBelow(roots, random)].filter(([kind]) => !values.kind || kind === values.kind);
  const perKind = Math.ceil(bodiesMin / byKind.length);
  const all: Sent[] = [];
  for (let round = 0; all.length < bodiesMin && round < 4; round += 1)
    for (const [kind, paths] of byKind) all.push(...bodiesOfKind(kind, paths, perKind));
  return shuffled(all, random).slice(0, bodiesMin);
}

function bodiesOfKind(kind: string, paths: readonly string[], count: number): Sent[] {
  const all: Sent[] = [];
  const queue = shuffled(paths, random);
  while (all.length < count && queue.length > 0) {
    const many = 1 + Math.floor(random() * filesPerBodyMax);
    const files: BenignFile[] = [];
    for (let room = fileBytesMax; files.length < many; ) {
      const path = queue.pop();
      if (path === undefined) break;
      const file = readBenign(kind, path, room);
      if (!file || (files[0] && files[0].isText !== file.isText)) {
        if (files.length > 0) break;
        continue;
      }
      files.push(file);
      room -= file.bytes.length;
      if (room < fileBytesMax / 8) break;
    }
    const [first] = files;
    if (!first) continue;
    const ways = Object.entries(first.isText ? textWays : binaryWays);
    const [way, make] = ways[Math.floor(random() * ways.length)] as (typeof ways)[number];
    const taken = takesMany.has(way) ? files : [first];
    all.push({ kind, way, files: taken, call: make(taken, random) });
  }
  return all;
}

function judge({ kind, way, files, call }: Sent, answer: Record<string, unknown>): void {
  const row = rows.get(kind) ?? { bodies: 0, rewritten: 0, held: 0, denied: 0, told: 0 };
  rows.set(kind, row);
  const count = (name: string): void => {
    row[name] = (row[name] ?? 0) + 1;
  };
  count('bodies');
  const decision = String(answer['decision']);
  const isTold = (answer['classifications'] as readonly string[]).length > 0;
  if (decision === 'ALLOW') {
    if (isTold) count('told');
    return;
  }
  wrong += 1;
  count(decision === 'SANITIZE' ? 'rewritten' : decision === 'DENY' ? 'denied' : 'held');
  const findings = (answer['findings'] as readonly Record<string, string>[]).filter(
    (it) => it['confidence'] !== 'low' && it['class'] !== 'PII',
  );
  const codes = (answer['reason_codes'] as readonly string[]).join(' ');
  const detectors = [...new Set(findings.map((it) => it['kind']))].join(' ');
  const reason = `${decision} ${codes}: ${detectors}`;
  reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
  const names = files.map(({ name }) => name).join(', ');
  shown.push(`${kind}, ${way}, ${names}\n    ${reason}\n    ${whyOf(answer, call)}`);
}

/** What was cut with a little around it, the middle of the value masked; else what the gateway says. */
function whyOf(answer: Record<string, unknown>, call: DescribedCall): string {
  const text = (value: unknown): string =>
    call.body_encoding === 'base64'
      ? Buffer.from(String(value), 'base64').toString('latin1')
      : JSON.stringify(value);
  const sanitized = answer['sanitized_body'];
  if (sanitized === undefined) return (answer['explanation'] as readonly string[]).join(' ').slice(0, 300);
  const [before, after] = [text(call.body), text(sanitized)];
  const places: string[] = [];
  let [at, from] = [0, 0];
  for (const cut of after.matchAll(/\[REDACTED:([^\]]+)\]/g)) {
    at += cut.index - from;
    from = cut.index + cut[0].length;
    const next = after.slice(from, from + 24).split('[REDACTED:')[0] ?? '';
    const end = next === '' ? before.length : before.indexOf(next, at);
    const value = before.slice(at, end);
    places.push(
      `${cut[1]}: …${before.slice(Math.max(0, at - 40), at)}«${masked(value)}»${decoded(value)} ${JSON.stringify(next.slice(0, 16))}`,
    );
    at = end;
    if (places.length >= 4) break;
  }
  return places.join('\n    ').replace(/[^\x20-\x7e\n]/g, '?');
}

function masked(value: string): string {
  return value.length < 12 ? value : `${value.slice(0, 8)}…${value.length}…${value.slice(-4)}`;
}

/** What a piece of base64 says, where it says something. */
function decoded(value: string): string {
  if (!/^[\w+/-]{8,}={0,2}$/.test(value)) return '';
  const text = Buffer.from(value, 'base64').toString('latin1');
  return /^[\t\n\r -~]+$/.test(text) ? ` = ${masked(text)}` : ' = bytes';
}
