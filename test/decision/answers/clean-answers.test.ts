import t from 'tap';
import { CleanAnswers } from '../../../src/decision/answers/clean-answers.ts';

t.test('knows the last eight contents that were clean, byte for byte, and no large one', async (t) => {
  const clean = new CleanAnswers();
  const contents = Array.from({ length: 9 }, (_, n) => Buffer.from(`{"answer":${n}}`));
  for (const content of contents) clean.add(content);
  t.equal(clean.has(contents[0] as Buffer), false, 'the oldest is forgotten');
  for (const content of contents.slice(1)) t.ok(clean.has(content));
  t.equal(clean.has(Buffer.from('{"answer":9}')), false);
  const large = Buffer.alloc(16_385, 'a');
  clean.add(large);
  t.equal(clean.has(large), false);
});

t.test('keeps a copy: a buffer that is written again does not change what is known', async (t) => {
  const clean = new CleanAnswers();
  const buffer = Buffer.from('harmless');
  clean.add(buffer);
  buffer.write('Harmless');
  t.equal(clean.has(buffer), false);
  t.equal(clean.has(Buffer.from('harmless')), true);
});
