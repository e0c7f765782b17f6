import t from 'tap';
import { isOfMarker, markerEnd } from '../../../src/inspect/match/markers.ts';

const ids = new Set(['github-token', 'email']);
const longest = 'a'.repeat(64);

t.test('a marker ends where its id does, if a detector has that id', async (t) => {
  for (const [text, start, end] of [
    ['[REDACTED:email]', 0, 16],
    ['see [REDACTED:github-token] there', 4, 27],
    ['[REDACTED:nobody]', 0, 0],
    ['[REDACTED:]', 0, 0],
    ['[REDACTED:email', 0, 0],
    ['[redacted:email]', 0, 0],
    ['x[REDACTED:email]', 0, 0],
    [`[REDACTED:${longest}]`, 0, 75],
    [`[REDACTED:a${longest}]`, 0, 0],
  ] as const)
    t.equal(markerEnd(Buffer.from(text), start, new Set([...ids, longest, `a${longest}`])), end, text);
});

t.test('a value is of a marker unless it goes on behind it', async (t) => {
  for (const [text, value, is] of [
    ['x=[REDACTED:email] y', '[REDACTED:email]', true],
    ['x=[REDACTED:email] y', 'REDACTED', true],
    ['x=[REDACTED:email] y', 'email', true],
    ['x=[REDACTED:email] y', '=[REDACTED:email', true],
    ['x=[REDACTED:email] y', '[REDACTED:email] y', true],
    ['x=[REDACTED:email]yz', '[REDACTED:email]yz', false],
    ['x=[REDACTED:email]yz', 'yz', false],
    ['x=[REDACTED:email] y', 'x=[REDACTED:email]', false],
    ['x=[REDACTED:secret] y', '[REDACTED:secret]', false],
    ['x=[a] REDACTED:email] y', 'email', false],
    ['[REDACTED:email] and email', ' and email', false],
  ] as const) {
    const start = text.lastIndexOf(value);
    t.equal(isOfMarker(Buffer.from(text), start, start + value.length, ids), is, `${value} in ${text}`);
  }
});
