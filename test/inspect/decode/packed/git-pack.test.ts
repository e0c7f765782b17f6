import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { deflateSync } from 'node:zlib';
import t from 'tap';
import { bodyPart, type PartResult, readPart } from '../../../../src/inspect/read-part.ts';
import { engine } from '../../../support/detectors.ts';
import { needProgram } from '../../../support/programs.ts';
import { awsKeyId, gitlabToken } from '../../../support/secrets.ts';

const type = 'application/x-git-receive-pack-request';
const read = (body: Buffer, maxDecodedBytes = 8 << 20): PartResult =>
  readPart({ ...bodyPart(body, type, 'git.example.com'), mayBeMany: true }, engine, {
    maxDecodedBytes,
    isOver: () => false,
  });
const kindsIn = (body: Buffer): string[] => read(body).findings.map(({ kind }) => kind);

const command =
  '0000000000000000000000000000000000000000 1111111111111111111111111111111111111111 refs/heads/main\0 report-status';
const line = (text: string): string => (text.length + 4).toString(16).padStart(4, '0') + text;

const commit = 1;
const blob = 3;
const offsetDelta = 6;
const referenceDelta = 7;

/** The head of an object: its type, and the size of what is packed (gitformat-pack(5)). */
function headOf(type: number, size: number): Buffer {
  const bytes = [(type << 4) | (size & 0x0f)];
  for (let rest = size >> 4; rest > 0; rest >>= 7) {
    bytes[bytes.length - 1] = (bytes.at(-1) as number) | 0x80;
    bytes.push(rest & 0x7f);
  }
  return Buffer.from(bytes);
}

interface GitObject {
  readonly type: number;
  readonly content: Buffer | string;
  /** Stands between the head and what is packed: what a difference is to. */
  readonly base?: Buffer;
}

function pushOf(objects: readonly GitObject[], count = objects.length): Buffer {
  const head = Buffer.alloc(12);
  head.write('PACK');
  head.writeUInt32BE(2, 4);
  head.writeUInt32BE(count, 8);
  const packed = objects.flatMap(({ type, content, base = Buffer.alloc(0) }) => {
    const bytes = Buffer.from(content as string);
    return [headOf(type, bytes.length), base, deflateSync(bytes)];
  });
  return Buffer.concat([Buffer.from(`${line(command)}0000`), head, ...packed, randomBytes(20)]);
}

const filler: GitObject = { type: blob, content: 'some lines of a file\n'.repeat(300) };

t.test('secrets in what is pushed are found in each kind of object', async (t) => {
  const text = `url = https://gitlab.example.com\ntoken = ${gitlabToken()}\n`;
  // An offset of two bytes, and the instructions around what is new.
  const delta = Buffer.concat([Buffer.from([0x90, 0x01, 0x90, 0x02, text.length]), Buffer.from(text)]);
  const ways: Readonly<Record<string, GitObject>> = {
    'a file': { type: blob, content: text },
    'a message': {
      type: commit,
      content: `tree ${'a'.repeat(40)}\nauthor A <a@b.example> 1 +0000\n\n${text}`,
    },
    'a difference by offset': { type: offsetDelta, content: delta, base: Buffer.from([0x81, 0x10]) },
    'a difference by name': { type: referenceDelta, content: delta, base: randomBytes(20) },
    'a difference by SHA-256': { type: referenceDelta, content: delta, base: Buffer.alloc(32, 0xff) },
  };
  for (const [name, object] of Object.entries(ways)) {
    const { findings, opaque } = read(pushOf([filler, object, filler]));
    t.ok(
      findings.some(({ kind }) => kind === 'gitlab-token'),
      name,
    );
    t.same(opaque, [], `${name}: all of it was read, and is no file of unknown format`);
  }
});

t.test('who wrote a commit is no finding', async (t) => {
  const people =
    'author Ann Keller <ann.keller@corp.example> 1 +0000\ncommitter Bo <bo@corp.example> 1 +0000';
  const content = `tree ${'a'.repeat(40)}\n${people}\n\nMend the parser\n`;
  t.same(kindsIn(pushOf([{ type: commit, content }, filler])), []);
});

t.test('what cannot be read of a pack is told', async (t) => {
  const pack = pushOf([filler, filler]);
  t.match(read(pushOf([filler], 2)).opaque, [/^archive at /], 'an object that is missing');
  t.match(read(pack.subarray(0, pack.length - 40)).opaque, [/^archive at /], 'an object that is cut short');
  const large = pushOf([{ type: blob, content: randomBytes(3 << 20) }, filler]);
  const { opaque, unreadable } = read(large, 4 << 20);
  t.match(opaque.join(), /archive at /, 'more than half of the room');
  t.equal(unreadable, undefined, 'which denies nobody a push');
  const bomb = Buffer.concat([
    pushOf([], 1).subarray(0, -20),
    headOf(blob, 10),
    deflateSync(Buffer.alloc(1 << 20)),
  ]);
  t.match(read(bomb).opaque, [/^archive at /], 'an object that is larger than it says');
  t.same(read(Buffer.from(`${line(command)}0000`)).opaque, [], 'a push without a pack');
});

t.test('a pack that git has made', async (t) => {
  if (!needProgram(t, 'git')) return;
  const dir = t.testdir({});
  const git = (args: readonly string[], input?: string): Buffer =>
    execFileSync('git', ['-C', dir, '-c', 'user.name=A', '-c', 'user.email=a@b.example', ...args], { input });
  git(['init', '-q']);
  const lines = Array.from({ length: 400 }, (_, at) => `line ${at} of a file`);
  for (const text of [lines, [...lines, `key = ${awsKeyId()}`], [...lines, 'key = …', 'and more']]) {
    writeFileSync(join(dir, 'file.txt'), text.join('\n'));
    git(['add', '.']);
    git(['commit', '-qm', 'another state']);
  }
  const pack = git(['pack-objects', '--revs', '--stdout', '-q', '--delta-base-offset'], 'HEAD\n');
  const { findings, opaque } = read(Buffer.concat([Buffer.from(`${line(command)}0000`), pack]));
  t.same(opaque, []);
  t.ok(
    findings.some(({ kind }) => kind.startsWith('aws-')),
    'also in a state that is not the last one',
  );
});
