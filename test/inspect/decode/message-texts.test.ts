import t from 'tap';
import { messageTexts } from '../../../src/inspect/decode/message-texts.ts';

const textsIn = (message: string, isProtobuf = false) =>
  messageTexts(Buffer.from(message, isProtobuf ? 'latin1' : 'utf8'), isProtobuf).map((it) => [
    it.path.replaceAll('"', ''),
    String(it.bytes),
  ]);

t.test('the strings of a message of JSON are its texts, each at its path', async (t) => {
  t.same(textsIn('{"a":"one","b":{"c":["two",3,{"d":"\\u00e9\\n\\"x"}]},"n":1,"t":true,"e":""}'), [
    ['a', 'one'],
    ['b.c.[0]', 'two'],
    ['b.c.[2].d', 'é\n"x'],
  ]);
  t.same(textsIn(' ["x"]'), [['[0]', 'x']]);
  t.same(textsIn('"one\\tstring"'), [['', 'one\tstring']]);
});

t.test('an index tells texts apart that come in turn', async (t) => {
  const choice = (index: number): string => `{"choices":[{"delta":{"content":"x"},"index":${index}}]}`;
  t.notSame(textsIn(choice(0)), textsIn(choice(1)));
  t.same(textsIn(choice(1)), [['choices.[0].#1 delta.content', 'x']]);
  t.same(textsIn('{"index":"zero","a":"x"}'), [
    ['index', 'zero'],
    ['a', 'x'],
  ]);
});

t.test('marks and times are no texts that go on', async (t) => {
  const names = ['id', 'item_id', 'itemId', 'created_at', 'createdAt', 'time', 'type', 'model', 'role'];
  t.same(textsIn(JSON.stringify(Object.fromEntries(names.map((it) => [it, 'text'])))), []);
  for (const name of ['paid', 'chat', 'content', 'Id', 'identity', 'sometime'])
    t.same(textsIn(JSON.stringify({ [name]: 'text' })), [[name, 'text']], name);
});

t.test('what is no JSON is one text', async (t) => {
  for (const message of ['plain', '{"a":"b', '["a"', '"a', '{a}', '12', '[DONE]', ' '])
    t.same(textsIn(message), [['', message]], message);
  t.same(textsIn('[1,{}]'), [], 'and JSON without a string has none');
});

t.test('fields of protobuf are texts, by their numbers', async (t) => {
  t.same(textsIn('\x0a\x03one\x12\x05\x1a\x03two', true), [
    ['1', 'one'],
    ['2', '\x1a\x03two'],
    ['2.3', 'two'],
  ]);
});

t.test('a message of very many texts is a document, and a very long path is none that is kept', async (t) => {
  const many = (count: number): string =>
    JSON.stringify(Array.from({ length: count }, (_, at) => `text ${at}`));
  t.equal(textsIn(many(64)).length, 64);
  t.same(textsIn(many(65)), []);
  t.equal(textsIn(JSON.stringify({ [`a${'b'.repeat(200)}`]: 'x' })).length, 1);
  t.same(textsIn(JSON.stringify({ [`a${'b'.repeat(300)}`]: 'x' })), []);
});

t.test('each text tells where it stands', async (t) => {
  const message = Buffer.from('{"é":"ü one","b":["t\\u0077o"]}');
  const sources = messageTexts(message, false).map(({ start, end }) => String(message.subarray(start, end)));
  t.same(sources, ['ü one', 't\\u0077o']);
});
