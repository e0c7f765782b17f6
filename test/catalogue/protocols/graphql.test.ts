import t from 'tap';
import { loadCatalogue } from '../../../src/catalogue/catalogue.ts';
import { rootFieldsOf } from '../../../src/catalogue/protocols/graphql.ts';
import { requestOf } from '../support.ts';

const q = (...names: string[]) => names.map((name) => ({ kind: 'query', name }));
const m = (...names: string[]) => names.map((name) => ({ kind: 'mutation', name }));

const cases: readonly { name: string; document: string; want: unknown }[] = [
  { name: 'a query without a keyword', document: '{ viewer { login } }', want: q('viewer') },
  {
    name: 'a named query',
    document: 'query Get { viewer { login } repository { id } }',
    want: q('viewer', 'repository'),
  },
  { name: 'a mutation', document: 'mutation{createIssue(input:{a:1}){id}}', want: m('createIssue') },
  { name: 'an alias', document: 'mutation { viewer: deleteRef(input: {}) { id } }', want: m('deleteRef') },
  {
    name: 'variables with defaults',
    document: 'mutation X($a: I = {b: "}"}, $c: [Int!]! = [1]) @d(e: 1) { f(g: $a) @skip(if: false) { h } }',
    want: m('f'),
  },
  { name: 'a comment that looks like a query', document: '# { viewer }\nmutation { a }', want: m('a') },
  { name: 'braces in a string', document: '{ a(b: "} mutation { c") }', want: q('a') },
  { name: 'an escaped quote', document: '{ a(b: "\\"}") c }', want: q('a', 'c') },
  { name: 'a block string', document: '{ a(b: """ } \\""" " mutation """) c }', want: q('a', 'c') },
  { name: 'several operations', document: 'query A { a } mutation B { b }', want: [...q('a'), ...m('b')] },
  { name: 'fragments beside', document: 'query { a { ...F } } fragment F on T { deleteAll }', want: q('a') },
  { name: 'commas and a byte order mark', document: '\uFEFF{,a,,b,}', want: q('a', 'b') },
  {
    name: 'a fragment at the root',
    document: 'mutation { ...F } fragment F on Mutation { deleteRef }',
    want: m('deleteRef'),
  },
  {
    name: 'an inline fragment at the root',
    document: 'mutation { ... on Mutation { a: deleteRef } b }',
    want: m('deleteRef', 'b'),
  },
  {
    name: 'fragments in fragments',
    document:
      'mutation { ...F } fragment F on M { ...G ... @include(if: true) { c } } fragment G on M { deleteRef }',
    want: m('deleteRef', 'c'),
  },
  {
    name: 'a fragment that is not there',
    document: 'mutation { a ...F }',
    want: undefined,
  },
  {
    name: 'a fragment that spreads itself',
    document: 'mutation { ...F } fragment F on M { a ...F }',
    want: undefined,
  },
  { name: 'a definition of a type', document: 'type A { b: Int } query { a }', want: undefined },
  { name: 'nothing', document: '', want: undefined },
  { name: 'an empty selection', document: 'mutation { }', want: undefined },
  { name: 'an unknown keyword', document: 'mutatiom { deleteRef }', want: undefined },
  { name: 'an open brace', document: '{ a {', want: undefined },
  { name: 'a brace too many', document: '{ a } }', want: undefined },
  { name: 'an open string', document: '{ a(b: "x) }', want: undefined },
  { name: 'an open block string', document: `{ a(b: """${'\\"""'.repeat(5000)}`, want: undefined },
  { name: 'characters that are no token', document: '{ a ; b }', want: undefined },
  { name: 'more fields than can be judged', document: `{ ${'a '.repeat(101)}}`, want: undefined },
  { name: 'a document over 64 KB', document: `{ a ${' '.repeat(70_000)}}`, want: undefined },
  { name: 'deep nesting', document: `{ a ${'{ b '.repeat(1300)}${'}'.repeat(1300)} }`, want: q('a') },
  { name: 'deeper nesting', document: `{ a ${'{ b '.repeat(5000)}${'}'.repeat(5000)} }`, want: undefined },
  { name: 'deep lists', document: `{ a(b: ${'['.repeat(5000)}${']'.repeat(5000)}) }`, want: undefined },
];

for (const { name, document, want } of cases) {
  t.test(`reads the root fields of ${name}`, async (t) =>
    t.strictSame(
      rootFieldsOf(document)?.map(({ kind, name }) => ({ kind, name })),
      want,
    ),
  );
}

t.test('reads arguments as literals and variables', async (t) => {
  const argumentsOf = (document: string, variables = {}) => rootFieldsOf(document, variables)?.[0]?.arguments;
  t.strictSame(
    { ...argumentsOf('mutation { invite(input: { email: "ann@acme.com", n: 1, on: [true, A] }) }') },
    {
      input: { email: 'ann@acme.com', n: 1, on: [true, 'A'] },
    },
  );
  const invite = 'mutation M($who: I!) { invite(input: $who) }';
  t.strictSame(argumentsOf(invite, { who: { email: 'eve@example.net' } }), {
    input: { email: 'eve@example.net' },
  });
  t.strictSame(argumentsOf(invite), { input: undefined });
  t.strictSame(argumentsOf('mutation M($e: S) { invite(input: { email: $e }) }', { e: 'x' })?.['input'], {
    email: 'x',
  });
});

const tool = {
  name: 'demo',
  title: 'Demo',
  hosts: ['api.demo.example'],
  graphql: { call: ['POST /graphql', 'GET /graphql'] },
  operations: {
    members: {
      invite_user: {
        verb: 'ADMIN',
        graphql: 'invite',
        extract: { principals: 'graphql:invite.input.email', org: 'graphql:*.org' },
      },
    },
  },
};
const catalogue = loadCatalogue(t.testdir({}), [tool]);
const url = 'https://api.demo.example/graphql';
const principalsOf = (body: unknown) => catalogue.understand(requestOf('POST', url, {}, body)).principals;

t.test('whom an operation addresses may stand in the document or in its variables', async (t) => {
  t.strictSame(principalsOf({ query: 'mutation { a: invite(input: { email: "eve@example.net" }) }' }), [
    'eve@example.net',
  ]);
  const query = 'mutation M($x: I) { ...F } fragment F on M { invite(input: $x) }';
  t.strictSame(principalsOf({ query, variables: { x: { email: 'ann@acme.com' } } }), ['ann@acme.com']);
  t.strictSame(
    principalsOf([
      { query: 'mutation { invite(input: { email: "ann@acme.com" }) }' },
      { query: 'mutation { invite(input: { email: "eve@example.net" }) }' },
    ]),
    ['ann@acme.com', 'eve@example.net'],
  );
  const inUrl = `${url}?query=${encodeURIComponent(query)}&variables=${encodeURIComponent('{"x":{"email":"ann@acme.com"}}')}`;
  t.strictSame(catalogue.understand(requestOf('GET', inUrl)).principals, ['ann@acme.com']);
});

t.test('where one document of several cannot be read, it may address anybody', async (t) => {
  const known = { query: 'mutation { invite(input: { email: "ann@acme.com" }, org: "acme") }' };
  const { principals, resource, name } = catalogue.understand(
    requestOf('POST', url, {}, [known, { id: 'persisted' }]),
  );
  t.strictSame(
    { principals, org: resource.org, unknown: resource.unknown, name },
    {
      principals: ['ann@acme.com', '*'],
      org: 'acme',
      unknown: ['org'],
      name: 'invite_user',
    },
  );
});
