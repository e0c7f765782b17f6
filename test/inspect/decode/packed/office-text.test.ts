import t from 'tap';
import { DecodeBudget, onePass } from '../../../../src/inspect/decode/budget.ts';
import { isOfficeFile, shownTexts } from '../../../../src/inspect/decode/packed/office-text.ts';
import { toReadable } from '../../../../src/inspect/decode/packed/readable.ts';
import { zipOf } from '../zip-file.ts';

const shown = (xml: string, strings = ''): string => {
  const entries = Object.entries({ 'xl/sharedStrings.xml': strings, 'part.xml': xml });
  const texts = shownTexts(
    entries.map(([name, content]) => ({ name, content: Buffer.from(content) })),
    onePass(),
  );
  return String(texts[1]);
};

const cases = [
  {
    name: 'a word that is cut into runs',
    xml: '<w:p><w:r><w:rPr><w:b/></w:rPr><w:t>my se</w:t></w:r><w:r><w:t xml:space="preserve">cret </w:t></w:r></w:p><w:p/>',
    text: 'my secret \n\n',
  },
  {
    name: 'a table of a text document, with two lines in a cell',
    xml: '<w:tbl><w:tr><w:tc><w:p><w:t>name</w:t></w:p></w:tc><w:tc><w:p><w:t>a</w:t></w:p><w:p><w:t>b</w:t></w:p></w:tc></w:tr><w:tr><w:tc/><w:tc><w:t>c</w:t></w:tc></w:tr></w:tbl>',
    text: 'name \ta b \n\tc\n',
  },
  {
    name: 'a line break and a tab',
    xml: '<a:p><a:t>one</a:t><a:br/><a:t>two</a:t></a:p><text:p>three<text:tab/>four<text:s/>five</text:p>',
    text: 'one\ntwo\nthree four five\n',
  },
  {
    name: 'an OpenDocument table',
    xml: '<table:table-row><table:table-cell><text:p>a</text:p></table:table-cell><table:table-cell><text:p>b</text:p></table:table-cell></table:table-row>',
    text: 'a \tb \n',
  },
  {
    name: 'a sheet of shared texts, with an empty column and a formula',
    strings:
      '<x:sst xmlns:x="y"><si><t>user</t></si><si><r><t>pass</t></r><r><t>word</t></r><rPh><t>x</t></rPh></si></x:sst>',
    xml: '<row r="1"><c r="A1" t="s"><v>0</v></c><c r="C1" s="1" t="s"><v>1</v></c></row><row><c r="A2" t="inlineStr"><is><t>me</t></is></c><c r="C2"><f>A1*2</f><v>7</v></c></row>',
    text: 'user\t\tpassword\nme\t\t7\n',
  },
  { name: 'an index that no text has', xml: '<row><c t="s"><v>9</v></c></row>', text: '\n' },
  { name: 'cells that name no column', xml: '<row><c><v>1</v></c><c><v>2</v></c></row>', text: '1\t2\n' },
  {
    name: 'a column further off than any',
    xml: '<row><c r="ZZZ1"><v>1</v></c></row>',
    text: `${'\t'.repeat(128)}1\n`,
  },
  { name: 'no end of a tag', xml: '<w:p>a<w:p', text: 'a' },
];

for (const { name, xml, strings, text } of cases)
  t.test(`shows ${name}`, async (t) => t.equal(shown(xml, strings), text));

t.test('an archive shows its texts, its names and its comment', async (t) => {
  const zip = zipOf([{ name: 'word/document.xml', content: Buffer.from('<w:t>my </w:t><w:t>secret</w:t>') }]);
  zip.writeUInt16LE(4, zip.length - 2);
  const { bytes, names } = toReadable(Buffer.concat([zip, Buffer.from('note')]), onePass());
  t.strictSame(names, ['zip']);
  t.match(String(bytes), /my secret[\s\S]*word\/document\.xml\nnote/);
});

t.test('a text that many cells show is bounded', async (t) => {
  const strings = `<sst><si><t>${'long '.repeat(200)}</t></si></sst>`;
  const sheet = `<row>${'<c t="s"><v>0</v></c>'.repeat(200)}</row>`;
  const entries = [
    { name: 'a.xml', content: Buffer.from(strings) },
    { name: 'b.xml', content: Buffer.from(sheet) },
  ];
  const within = (maxDecodedBytes: number) =>
    new DecodeBudget({ maxDecodedBytes, depthMax: 1, isOver: () => false });
  t.equal(shownTexts(entries, within(200_000))[1]?.length, 200 * 1000 + 199 + 1);
  t.throws(() => shownTexts(entries, within(199_999)), { message: /more than the limit/ });
});

t.test('knows office files by their first entry', async (t) => {
  const content = Buffer.from('x');
  for (const name of ['[Content_Types].xml', 'docProps/app.xml', 'xl/workbook.xml'])
    t.ok(isOfficeFile(zipOf([{ name, content }])), name);
  const type = Buffer.from('application/vnd.oasis.opendocument.text');
  t.ok(isOfficeFile(zipOf([{ name: 'mimetype', content: type, method: 0 }])));
  for (const name of ['package/setup.py', 'META-INF/MANIFEST.MF', 'mimetype'])
    t.notOk(isOfficeFile(zipOf([{ name, content }])), name);
  t.notOk(isOfficeFile(Buffer.from('xl/workbook.xml')));
});
