import t from 'tap';
import { decideBy, type GivenFacts } from './facts.ts';

const agentId = '5b0c7f0e-7a54-4b0e-9a55-0a2f6f0f7c11';
const on = (resource: object): GivenFacts => ({ operation: { resource } });
const to = (...principals: string[]): GivenFacts => ({ operation: { principals } });

/** [match, facts for which it holds, facts for which it does not] */
const cases: Record<string, [match: object, holds: GivenFacts[], fails: GivenFacts[]][]> = {
  'an empty match': [[{}, [{}, { method: 'PURGE' }, { operation: { toolName: 'github' } }], []]],
  tool_name: [
    [
      { tool_name: 'github' },
      [{ operation: { toolName: 'github' } }],
      [{}, { operation: { toolName: 'GitHub' } }, { operation: { toolName: 'github2' } }],
    ],
  ],
  tool_names: [
    [
      { tool_names: ['github', 'slack'] },
      [{ operation: { toolName: 'slack' } }],
      [{ operation: { toolName: 'aws' } }],
    ],
    [
      { tool_name: 'github', tool_names: ['github', 'slack'] },
      [{ operation: { toolName: 'github' } }],
      [{ operation: { toolName: 'slack' } }],
    ],
  ],
  operations: [
    [
      { operations: ['create_pr'] },
      [{ operation: { name: 'create_pr' } }],
      [{ operation: { name: 'create_pr_comment' } }, { operation: { name: 'Create_PR' } }],
    ],
    [
      { operations: ['category:messaging'] },
      [{ operation: { category: 'messaging' } }],
      [{ operation: { category: 'messaging2' } }, { operation: { name: 'category:messaging' } }],
    ],
    [{ operations: ['method:delete'] }, [{ method: 'DELETE' }, { method: 'Delete' }], [{ method: 'POST' }]],
    [
      { operations: ['POST:/v1/x'] },
      [{ operation: { name: 'POST:/v1/x' } }],
      [{ operation: { name: 'POST:/v1/y' } }],
    ],
    [{ operations: ['merge_pr', '*'] }, [{ operation: { name: 'anything' } }], []],
    [
      { operations: ['*'], tool_name: 'github' },
      [{ operation: { toolName: 'github', name: 'x' } }],
      [{ operation: { toolName: 'slack' } }],
    ],
  ],
  verbs: [
    [
      { verbs: ['WRITE', 'ADMIN'] },
      [{}, { operation: { verb: 'ADMIN' } }],
      [{ operation: { verb: 'READ' } }],
    ],
  ],
  methods: [
    [
      { methods: ['post', 'Put'] },
      [{ method: 'POST' }, { method: 'put' }],
      [{ method: 'GET' }, { method: 'POSTS' }, { method: '' }],
    ],
  ],
  agent_ids: [
    [{ agent_ids: [agentId.toUpperCase()] }, [{ agentId }], [{ agentId: agentId.replace('5b', '5c') }]],
  ],
  agent_runtime_types: [
    [
      { agent_runtime_types: ['crewai', 'langchain'] },
      [{}],
      [{ runtimeType: 'custom' }, { runtimeType: undefined }],
    ],
  ],
  org_patterns: [
    [
      { org_patterns: ['acme'] },
      [on({ org: 'acme', repo: 'acme/app' }), on({ repo: 'acme/app' }), on({ org: 'Acme' })],
      [{}, on({ org: 'acme2' })],
    ],
    [
      { org_patterns: ['acme-*', '?corp'] },
      [on({ org: 'acme-eu' }), on({ org: 'xcorp' })],
      [on({ org: 'acme' }), on({ org: 'corp' })],
    ],
    [
      { org_patterns: ['acme/*'] },
      [on({ org: 'acme', repo: 'acme/app' }), on({ org: 'acme', repo: 'acme/group/app' })],
      [on({ org: 'acme2', repo: 'acme2/app' }), on({ org: 'acme' })],
    ],
    // The star of an organisation's name does not reach into its repositories.
    [
      { org_patterns: ['a*e'] },
      [on({ org: 'acme', repo: 'acme/app' })],
      [on({ org: 'abc', repo: 'abc/code' })],
    ],
  ],
  repo_patterns: [
    [
      { repo_patterns: ['acme/*'] },
      [on({ repo: 'acme/app' }), on({ repo: 'acme/sub/app' })],
      [{}, on({ repo: 'acme-evil/app' }), on({ org: 'acme' })],
    ],
    [{ repo_patterns: ['infra-*'] }, [on({ repo: 'acme/infra-eu' })], [on({ repo: 'acme/app-infra-eu' })]],
    [
      { repo_patterns: ['acme/[a-c]*'] },
      [on({ repo: 'acme/backend' }), on({ repo: 'acme/Backend' })],
      [on({ repo: 'acme/docs' })],
    ],
  ],
  channel_patterns: [
    [
      { channel_patterns: ['#ops-*', 'general'] },
      [on({ channel: 'ops-eu' }), on({ channel: '#ops-eu' }), on({ channel: '#general' })],
      [{}, on({ channel: 'devops-eu' }), on({ channel: '##general' })],
    ],
  ],
  region_patterns: [
    [
      { region_patterns: ['eu-*'] },
      [on({ region: 'eu-central-1' })],
      [{}, on({ region: 'us-east-1' }), on({ region: 'EU-west-1' })],
    ],
  ],
  account_patterns: [
    [
      { account_patterns: ['1234*'] },
      [on({ account: '123456789012' })],
      [{}, on({ account: '999123456789' })],
    ],
  ],
  aws_tags: [
    [
      { aws_tags: { env: 'prod', team: 'pay' } },
      [on({ tags: { env: 'prod', team: 'pay', x: 'y' } })],
      [{}, on({ tags: { env: 'prod' } }), on({ tags: { env: 'Prod', team: 'pay' } })],
    ],
    [{ aws_tags: { constructor: 'x' } }, [on({ tags: { constructor: 'x' } })], [on({ tags: {} })]],
  ],
  principal_patterns: [
    [
      { principal_patterns: ['acme.com'] },
      [to('bob@acme.com'), to('x@y.z', 'bob@ACME.com'), to('Bob <bob@acme.com>')],
      [
        {},
        to('bob@acme.com.evil.example'),
        to('bob@notacme.com'),
        to('acme.com@evil.example'),
        to('bob@sub.acme.com'),
      ],
    ],
    [{ principal_patterns: ['@acme.com$'] }, [to('bob@acme.com')], [to('bob@acme.com.br'), to('acme.com')]],
    [{ principal_patterns: ['*.acme.com'] }, [to('bob@mail.acme.com')], [to('bob@acme.com')]],
    [
      { principal_patterns: ['bob@ACME.com'] },
      [to('bob@acme.com')],
      [to('Bob@acme.com'), to('eve@acme.com')],
    ],
    [
      { principal_patterns: ['arn:aws:iam::123:role/*'] },
      [to('arn:aws:iam::123:role/admin')],
      [to('arn:aws:iam::999:role/admin')],
    ],
    [{ principal_patterns: ['octo*'] }, [to('octocat')], [to('x@y.z')]],
  ],
  url_patterns: [
    [
      { url_patterns: ['https://api.x.com/v1/'] },
      [{ url: 'https://api.x.com/v1/a?b=c' }, { url: 'HTTPS://API.X.COM:443/v1/' }],
      [
        { url: 'https://api.x.com/v1' },
        { url: 'https://api.x.com/V1/' },
        { url: 'http://api.x.com/v1/' },
        { url: 'https://api.x.com.evil.com/v1/' },
      ],
    ],
    [
      { url_patterns: ['https://nothing.example/', 'https://*.x.com/admin*'] },
      [{ url: 'https://a.b.x.com/admin/users' }],
      [{ url: 'https://x.com/admin' }, { url: 'https://a.x.com/user' }],
    ],
  ],
  'several keys at once': [
    [
      { tool_name: 'github', verbs: ['WRITE'], methods: ['POST'], org_patterns: ['acme'] },
      [{ operation: { toolName: 'github', resource: { org: 'acme' } } }],
      [
        { operation: { toolName: 'github', resource: { org: 'other' } } },
        { operation: { toolName: 'github', verb: 'READ', resource: { org: 'acme' } } },
        { method: 'PUT', operation: { toolName: 'github', resource: { org: 'acme' } } },
      ],
    ],
  ],
};

for (const [key, rows] of Object.entries(cases)) {
  t.test(`${key} holds and does not hold as written`, async (t) => {
    for (const [match, holds, fails] of rows) {
      for (const given of holds)
        t.equal(decideBy([{ match }], given).action, 'DENY', JSON.stringify({ match, given }));
      for (const given of fails)
        t.equal(decideBy([{ match }], given).action, undefined, JSON.stringify({ match, given }));
    }
  });
}

t.test('a rule that allows asks that every principal matches', async (t) => {
  const rule = { match: { principal_patterns: ['acme.com'] }, action: 'ALLOW' };
  t.equal(decideBy([rule], to('a@acme.com', 'b@acme.com')).action, 'ALLOW');
  t.equal(decideBy([rule], to('a@acme.com', 'eve@evil.example')).action, undefined);
  t.equal(decideBy([rule], {}).action, undefined, 'no principal is no known principal');
});

t.test(
  'a rule that allows asks that every reading of the URL matches, any other that one does',
  async (t) => {
    const match = { url_patterns: ['https://x.com/public/'] };
    const hidden = { url: 'https://x.com/public/..%2fadmin' };
    t.equal(decideBy([{ match, action: 'ALLOW' }], hidden).action, undefined);
    t.equal(decideBy([{ match, action: 'ALLOW' }], { url: 'https://x.com/public/a' }).action, 'ALLOW');
    const admin = { url_patterns: ['https://x.com/admin'] };
    for (const path of [
      '/%61dmin',
      '//admin',
      '/public/..%2fadmin',
      '/a/..;x=1/admin',
      '/;/admin',
      '/admin;v=1',
    ]) {
      t.equal(decideBy([{ match: admin }], { url: `https://x.com${path}` }).action, 'DENY', path);
    }
  },
);

t.test('a rule that allows a repository by name does not read the name as an organisation', async (t) => {
  const match = { repo_patterns: ['docs-*'] };
  for (const [repo, denied, allowed] of [
    ['acme/docs-eu', 'DENY', 'ALLOW'],
    ['docs-evil/code', 'DENY', undefined],
    ['acme/code', undefined, undefined],
  ] as const) {
    t.equal(decideBy([{ match }], on({ repo })).action, denied, repo);
    t.equal(decideBy([{ match, action: 'ALLOW' }], on({ repo })).action, allowed, repo);
  }
});

/** [match, resource, whether a denial holds, whether an allowance holds] */
const readTwice: [match: object, resource: object, denies: boolean, allows: boolean][] = [
  // Vendors that take any case must not be a way around a denial; what is let through is written as it is.
  [{ repo_patterns: ['acme/*'] }, { org: 'ACME', repo: 'ACME/app' }, true, false],
  [{ repo_patterns: ['App'] }, { repo: 'acme/aPP' }, true, false],
  [{ repo_patterns: ['acme/app'] }, { repo: 'acme/app' }, true, true],
  [{ repo_patterns: ['acme/[Z-a]pp'] }, { repo: 'acme/App' }, true, false],
  [{ repo_patterns: ['acme/[!A]*'] }, { repo: 'acme/app' }, true, true],
  [{ org_patterns: ['acme'] }, { org: 'AcMe' }, true, false],
  [{ org_patterns: ['acme/*'] }, { org: 'AcMe', repo: 'AcMe/app' }, true, false],
  [{ channel_patterns: ['#Ops-*'] }, { channel: 'oPS-eu' }, false, false],
  [{ account_patterns: ['Team-1'] }, { account: 'TEAM-1' }, false, false],
  [{ region_patterns: ['eu-*'] }, { region: 'EU-west-1' }, false, false],
  // Several values of which the vendor takes one.
  [{ channel_patterns: ['secret'] }, { channel: '#general,#secret' }, true, false],
  [{ channel_patterns: ['general', 'secret'] }, { channel: '#general,#secret' }, true, true],
  [{ channel_patterns: ['#a*'] }, { channel: '#a,#b' }, true, false],
  [{ repo_patterns: ['acme/b'] }, { org: 'acme', repo: 'acme/a,acme/b' }, true, false],
  [{ org_patterns: ['evil'] }, { org: 'acme', repo: 'acme/a,evil/b' }, true, false],
  // What the call acts on without saying so may be anything.
  [{ repo_patterns: ['acme/*'] }, { repo: '4711', unknown: ['org', 'repo'] }, true, false],
  [{ repo_patterns: ['*'] }, { repo: '4711', unknown: ['org', 'repo'] }, true, false],
  [{ org_patterns: ['acme'] }, { repo: '4711', unknown: ['org', 'repo'] }, true, false],
  [{ org_patterns: ['acme'] }, { org: 'other', unknown: ['repo'] }, false, false],
  [{ channel_patterns: ['x'] }, { unknown: ['channel'] }, true, false],
  [{ channel_patterns: ['x'] }, { unknown: ['repo'] }, false, false],
  [{ region_patterns: ['eu-*'] }, { unknown: ['region'] }, true, false],
];

t.test('what a call acts on is read widely to refuse and narrowly to allow', async (t) => {
  for (const [match, resource, denies, allows] of readTwice) {
    const name = JSON.stringify({ match, resource });
    t.equal(decideBy([{ match }], on(resource)).action, denies ? 'DENY' : undefined, name);
    const allowed = decideBy([{ match, action: 'ALLOW' }], on(resource)).action;
    t.equal(allowed, allows ? 'ALLOW' : undefined, `${name} allows`);
  }
});

t.test('of a method and those that override it, any refuses and only all allow', async (t) => {
  const overridden = { method: 'POST', overridingMethods: ['PATCH', 'DELETE'] };
  for (const key of ['methods', 'operations']) {
    const naming = (...methods: string[]) => ({
      [key]: key === 'methods' ? methods : methods.map((method) => `method:${method}`),
    });
    t.equal(decideBy([{ match: naming('DELETE') }], overridden).action, 'DENY', key);
    t.equal(decideBy([{ match: naming('post') }], overridden).action, 'DENY', key);
    t.equal(decideBy([{ match: naming('PUT') }], overridden).action, undefined, key);
    t.equal(decideBy([{ match: naming('POST'), action: 'ALLOW' }], overridden).action, undefined, key);
    t.equal(
      decideBy([{ match: naming('POST', 'DELETE'), action: 'ALLOW' }], overridden).action,
      undefined,
      key,
    );
    t.equal(
      decideBy([{ match: naming('POST', 'PATCH', 'DELETE'), action: 'ALLOW' }], overridden).action,
      'ALLOW',
      key,
    );
  }
});

t.test('what refuses an agent refuses it under any other name, what allows asks for the name', async (t) => {
  const [own, named] = ['5b0c7f0e-7a54-4b0e-9a55-0a2f6f0f7c11', '5b0c7f0e-7a54-4b0e-9a55-0a2f6f0f7c12'];
  const facts = {
    agentId: named,
    runtimeType: 'crewai',
    ownAgent: { agentId: own, runtimeType: 'langchain' },
  };
  const cases = [
    ['agent_ids', own, named, '5b0c7f0e-7a54-4b0e-9a55-0a2f6f0f7c13'],
    ['agent_runtime_types', 'langchain', 'crewai', 'custom'],
  ] as const;
  for (const [key, ofOwn, ofNamed, ofNobody] of cases) {
    const decided = (value: string, action: string) =>
      decideBy([{ match: { [key]: [value] }, action }], facts).action;
    for (const action of ['DENY', 'REQUIRE_APPROVAL', 'SANITIZE', 'OPEN_INCIDENT'])
      for (const value of [ofOwn, ofNamed]) t.equal(decided(value, action), action, `${key} ${action}`);
    t.equal(decided(ofNamed, 'ALLOW'), 'ALLOW', key);
    t.equal(decided(ofOwn, 'ALLOW'), undefined, key);
    t.equal(decided(ofNobody, 'DENY'), undefined, key);
  }
});
