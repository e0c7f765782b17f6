import t from 'tap';
import { CatalogueError, loadCatalogue } from '../../../src/catalogue/catalogue.ts';

const tool = (operations: string, more = '') =>
  `name: demo\ntitle: Demo\nhosts: [api.demo.example]\n${more}operations:\n${operations}`;

const cases: readonly { name: string; files: Record<string, string>; mistakes: readonly RegExp[] }[] = [
  {
    name: 'text that is not YAML',
    files: { 'demo.yaml': 'name: [demo\n' },
    mistakes: [/^demo\.yaml: deficient indentation \(2:1\)/],
  },
  {
    name: 'an operation that is written twice',
    files: {
      'demo.yaml': tool('  a:\n    x: { verb: READ, call: GET /x }\n    x: { verb: READ, call: GET /y }\n'),
    },
    mistakes: [/^demo\.yaml: duplicated mapping key/],
  },
  {
    name: 'all mistakes of all files at once',
    files: {
      'demo.yaml': tool(
        '  a:\n    x: { verb: READS, call: GET x }\n    Y: { verb: READ, call: GET /y }\n',
        'colour: red\n',
      ),
      'other.yaml': 'name: other\ntitle: Other\nhosts: ["*.com"]\n',
    },
    mistakes: [
      /^demo\.yaml: operations\.a\.x\.verb: /,
      /^demo\.yaml: operations\.a\.x\.call\.0: "GET x" is not a method and a path/,
      /^demo\.yaml: operations\.a\.Y: /,
      /^demo\.yaml: \(file\): .*"colour"/,
      /^other\.yaml: hosts\.0: "\*\.com" is not a host pattern/,
    ],
  },
  {
    name: 'a place that no request has',
    files: {
      'demo.yaml': tool(
        "  a:\n    x: { verb: READ, call: GET /x, extract: { channel: 'cookie:x' }, when: { nowhere: true } }\n",
      ),
    },
    mistakes: [/extract\.channel\.0: "cookie:x" is not a place/, /when: "nowhere" is not a place/],
  },
  {
    name: 'an operation that nothing leads to',
    files: { 'demo.yaml': tool('  a:\n    x: { verb: READ }\n    y: { verb: READ, rpc: Y }\n') },
    mistakes: [/operations\.a\.x: needs one of call, rpc, graphql/],
  },
  {
    name: 'an action on a surface without actions',
    files: { 'demo.yaml': tool('  a:\n    y: { verb: READ, rpc: Y }\n') },
    mistakes: [/^demo: y: its surface has no rpc$/],
  },
  {
    name: 'two operations at one path',
    files: {
      'demo.yaml': tool(
        "  a:\n    x: { verb: READ, call: 'GET /x/{a}' }\n    y: { verb: READ, call: 'GET /x/{b}' }\n",
      ),
    },
    mistakes: [/^demo: x and y have the same method and path$/],
  },
  {
    name: 'a name with two verbs',
    files: {
      'demo.yaml': tool(
        '  a:\n    x: { verb: READ, call: GET /x }\n  b:\n    x: { verb: WRITE, call: POST /x }\n',
      ),
    },
    mistakes: [/^demo: x is both READ and WRITE$/],
  },
  {
    name: 'a host of two tools',
    files: {
      'demo.yaml': tool('  {}\n'),
      'other.yaml': 'name: other\ntitle: Other\nhosts: [api.demo.example]\n',
    },
    mistakes: [/^other: api\.demo\.example already belongs to demo$/],
  },
  {
    name: 'a guest of a tool that does not have its host',
    files: {
      'demo.yaml': tool('  {}\n'),
      'other.yaml':
        'name: other\ntitle: Other\nhosts: [api.demo.example, api.other.example]\nguest_of: demo\n',
    },
    mistakes: [/^other: guest_of: api\.other\.example does not belong to demo$/],
  },
  {
    name: 'a file that is not called like its tool',
    files: { 'demos.yaml': tool('  {}\n') },
    mistakes: [/^demos\.yaml: name: the file of demo must be called demo\.yaml$/],
  },
  {
    name: 'patterns that would claim hosts of strangers',
    files: {
      'demo.yaml':
        'name: demo\ntitle: Demo\nhosts: ["{a}.com", "*", com, "a.*.com", "{a+}.{b}.x.com", "{a+}.{b+}.x.com", "A.x.com"]\n',
    },
    mistakes: [0, 1, 2, 3, 5, 6].map((index) => new RegExp(`hosts\\.${index}: `)),
  },
];

for (const { name, files, mistakes } of cases) {
  t.test(`refuses ${name}`, async (t) => {
    const dir = t.testdir(files);
    try {
      loadCatalogue(dir);
      t.fail('loaded');
    } catch (error) {
      if (!(error instanceof CatalogueError)) throw error;
      for (const mistake of mistakes)
        t.ok(
          error.mistakes.some((text) => mistake.test(text)),
          String(mistake),
        );
      t.equal(error.mistakes.length, mistakes.length, error.message);
    }
  });
}

t.test('tells the mistakes of additions by their index', async (t) => {
  const dir = t.testdir({});
  t.throws(() => loadCatalogue(dir, [{ name: 'x', title: 'X', hosts: [] }]), /tools\[0\]: hosts: /);
});

t.test('an empty folder is a catalogue that knows protocols alone', async (t) => {
  const { tools } = loadCatalogue(t.testdir({ 'README.md': 'no tool' }));
  t.strictSame(
    tools.map(({ name }) => name),
    ['mcp', 'a2a'],
  );
});
