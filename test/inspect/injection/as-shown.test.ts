import t from 'tap';
import { asShown } from '../../../src/inspect/injection/as-shown.ts';

const shown = (text: string): string | undefined => asShown(Buffer.from(text))?.bytes.toString();

t.test('a text is read as it is shown', async (t) => {
  const cases: readonly [text: string, shown: string | undefined][] = [
    ['plain text - with a hyphen, a < b and c > d', undefined],
    ['', undefined],
    ['<b>one</b> <span style="color: red">two</span>', 'one two'],
    ['pre<wbr>vious<!-- a remark -->ly', 'previously'],
    ['<p>one</p><td>two</td>', '\none\n\ntwo\n'],
    ['see <code>one</code>', 'see `one`'],
    ['prev-\nious and prev-\r\nious', 'previous and previous'],
    ['a list:\n-\n- one', undefined],
    ['Well-\nKnown', undefined],
    ['say do_this_and_then_do_that now', 'say `do this and then do that` now'],
    ['thisIsWhatYouHaveToDoNow', '`this Is What You Have To Do Now`'],
    ['maximum_number_of_connections', undefined],
    ['ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFG', undefined],
    ['an <open tag', undefined],
    ['Ig<?x?>nore <![CDATA[all pre]]><![CDATA[vious]]>', 'Ignore all previous'],
    ['<![CDATA[one', 'one'],
    ['**Ig**nore a~~l~~l **words**', '**Ignore all **words**'],
    [`<a ${'x'.repeat(1000)}>`, undefined],
    ['x_'.repeat(400), undefined],
  ];
  for (const [text, want] of cases) t.equal(shown(text), want, text.slice(0, 60));
});

t.test('what is shown has its place in the source', async (t) => {
  const text = 'Go <b>on</b>, and then_do_this_and_that_again!';
  const view = asShown(Buffer.from(text));
  const sourceOf = (part: string): string => {
    const start = view?.bytes.indexOf(part) ?? -1;
    const place = view?.toSource(start, start + part.length);
    return text.slice(place?.start, place?.end);
  };
  t.equal(sourceOf('Go on'), 'Go <b>on');
  t.equal(sourceOf('on, and'), 'on</b>, and');
  t.equal(sourceOf('do this'), 'then_do_this_and_that_again', 'of a name the whole');
  t.equal(sourceOf('!'), '!');
});

t.test(
  'texts full of tags that never end, and of more than are looked at, are read to their end',
  async (t) => {
    t.equal(shown('<a'.repeat(200_000)), undefined);
    t.equal(
      shown(`${'<a'.repeat(200_000)}>`),
      `${'<a'.repeat(200_000 - 500)}`.concat(''),
      'one that ends at last',
    );
    t.ok(shown('<b>'.repeat(200_001))?.endsWith('<b>'));
    t.ok(shown('a-\nb'.repeat(200_001))?.endsWith('a-\nb'));
  },
);
