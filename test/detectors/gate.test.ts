import t from 'tap';
import { type Detector, detectorSchema } from '../../src/detectors/detector.ts';
import { createEngine } from '../../src/detectors/engine.ts';
import { type Gate, type GateKind, gateOf, regionsOf } from '../../src/detectors/gate.ts';
import { outlineOf } from '../../src/scan/outline.ts';

const detectorOf = (fields: Readonly<Record<string, unknown>>): Detector =>
  detectorSchema.parse({
    id: 'own',
    title: 'Own',
    class: 'PII',
    confidence: 'high',
    source: 'of this test',
    examples: { match: ['a', 'b'], pass: ['a', 'b'] },
    ...fields,
  });
const near = { keywords: ['passport'], window: { before: 20, after: 40 } };

t.test('what a rule cannot match without is read off its pattern', async (t) => {
  const rows: readonly [fields: Record<string, unknown>, gate: Gate | undefined][] = [
    [
      { ...near, pattern: '[A-Z]{1,2}\\d{7}' },
      { kind: 'digit', before: 51, after: 28 },
    ],
    [
      { ...near, pattern: '[A-Z]{2}(?:\\d{6}|[0-9]{3}-[A-Z]{4})' },
      { kind: 'digit', before: 51, after: 28 },
    ],
    [
      { ...near, pattern: '(?=[A-Z]{0,9}\\d)[A-Z0-9]{9}' },
      { kind: 'digit', before: 58, after: 28 },
    ],
    [{ ...near, pattern: '[0-9A-Z]{7}' }, undefined],
    [{ ...near, pattern: '(?!\\d)[A-Z]{7}' }, undefined],
    [{ ...near, pattern: '(?<=\\d)[A-Z]{7}' }, undefined],
    [{ ...near, pattern: '[A-Z]{7}\\d?' }, undefined],
    [{ ...near, pattern: '[A-Z]{7}|\\d{7}' }, undefined],
    [
      { ...near, pattern: ': {0,3}[\\w-]{20,40}' },
      { kind: 'token', before: 52, after: 28 },
    ],
    [{ ...near, pattern: '[\\w-]{13}' }, undefined],
    [{ ...near, pattern: '[\\w -]{20}' }, undefined],
    [{ ...near, window: { after: 600 }, pattern: '\\d{7}' }, undefined],
    [
      { anchors: ['own_'], pattern: 'own_[0-9a-z]{20}' },
      { kind: 'token', before: 8, after: 4 },
    ],
    [{ anchors: ['own '], pattern: 'own [ .]{0,900}\\d' }, undefined],
  ];
  for (const [fields, gate] of rows) t.same(gateOf(detectorOf(fields)), gate, String(fields['pattern']));
});

/** Looks at every byte. */
function nearOf(text: string, { kind, before, after }: Gate): boolean[] {
  const near = Array.from({ length: text.length }, () => false);
  const form = kind === 'digit' ? /\d/g : /[\w+/=.~:-]{14,}/g;
  for (const { 0: found, index } of text.matchAll(form))
    near.fill(true, Math.max(0, index - before), index + found.length + after);
  return near;
}

function regions(bytes: Buffer, gate: Gate, take: (from: number, to: number) => void): void {
  for (const { from, to } of regionsOf(outlineOf(bytes), bytes.length, gate)) take(from, to);
}

t.test('regions hold all that is near, come once, and leave out most of the rest', async (t) => {
  const plain = 'the quick brown fox '.repeat(20);
  const kinds: readonly [kind: GateKind, things: readonly string[]][] = [
    ['digit', ['7', '42', '2026-11-21', 'a1b2']],
    ['token', ['netlify_0123456789', 'a'.repeat(14), 'x'.repeat(300), 'A1b2C3d4E5f6G7h8']],
  ];
  for (const [kind, things] of kinds) {
    for (const thing of things) {
      for (let offset = 0; offset < 70; offset++) {
        const text = `${plain.slice(offset)}${thing} ${plain}${thing} ${thing}`;
        const gate = { kind, before: 30, after: 10 };
        // At any alignment.
        const bytes = Buffer.concat([Buffer.alloc(offset % 4), Buffer.from(text)]).subarray(offset % 4);
        const seen = Array.from({ length: text.length }, () => 0);
        regions(bytes, gate, (from, to) => {
          for (let at = from; at < to; at++) seen[at] = (seen[at] ?? 0) + 1;
        });
        const wanted = nearOf(text, gate);
        const missed = wanted.findIndex((isNear, at) => isNear && seen[at] === 0);
        const twice = seen.findIndex((times) => times > 1);
        const spare = seen.filter((times, at) => times > 0 && !wanted[at]).length;
        if (missed >= 0 || twice >= 0 || spare > 3 * 128)
          t.fail(
            `${kind} ${thing.slice(0, 20)} at ${offset}: missed ${missed}, twice ${twice}, spare ${spare}`,
          );
      }
    }
  }
  regions(Buffer.from('punctuation: only <;=?>'), { kind: 'digit', before: 9, after: 9 }, () =>
    t.fail('no digit'),
  );
  regions(Buffer.from('no run of so many letters'), { kind: 'token', before: 9, after: 9 }, () =>
    t.fail('no run'),
  );
  regions(Buffer.alloc(0), { kind: 'digit', before: 9, after: 9 }, () => t.fail('nothing'));
});

t.test('texts of a few bytes are looked at wherever they begin', async (t) => {
  for (const text of ['', '{', '{}', '[7]', '7', 'ab7', 'abc7', '7abc', 'a7b']) {
    for (let offset = 0; offset < 8; offset++) {
      const bytes = Buffer.concat([Buffer.alloc(offset), Buffer.from(text)]).subarray(offset);
      const found: string[] = [];
      regions(bytes, { kind: 'digit', before: 3, after: 3 }, (from, to) =>
        found.push(bytes.toString('latin1', from, to)),
      );
      t.equal(found.join('').includes('7'), text.includes('7'), `${text} at ${offset}`);
      regions(bytes, { kind: 'token', before: 3, after: 3 }, () => t.fail('no run'));
    }
  }
});

t.test('a gated detector finds its matches at every distance that its window allows', async (t) => {
  const engine = createEngine([detectorOf({ ...near, pattern: '[A-Z]{2}\\d{7}' })]);
  const count = (text: string): number =>
    engine.find(Buffer.from(text), { matchesMax: 10, isOver: () => false }).matches.length;
  for (let distance = 0; distance < 40; distance++) {
    const gap = ' '.repeat(distance);
    t.equal(count(`${'x '.repeat(300)}passport${gap}AB1234567${' y'.repeat(300)}`), 1, `${distance} behind`);
  }
  for (let distance = 0; distance <= 10; distance++)
    t.equal(count(`AB1234567${' '.repeat(distance)}passport`), 1, `${distance} before`);
  t.equal(count(`passport${' '.repeat(60)}AB1234567`), 0);
});
