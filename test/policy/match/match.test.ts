import t from 'tap';
import { compilePolicies } from '../../../src/policy/index.ts';
import { decideBy, factsOf, type GivenFacts, policyOf } from '../facts.ts';

const on = (resource: object): GivenFacts => ({ operation: { resource } });
const to = (...principals: string[]): GivenFacts => ({ operation: { principals } });

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

t.test('a method that overrides counts however often the same call came without it', async (t) => {
  const set = compilePolicies([policyOf('p', [{ match: { methods: ['POST'] }, action: 'ALLOW' }])]);
  for (let round = 0; round < 2; round++) {
    t.equal(set.decide(factsOf({ method: 'POST' })).action, 'ALLOW');
    for (const overridingMethods of [['DELETE'], ['POST', 'DELETE'], ['DELETE', 'PATCH']])
      t.equal(set.decide(factsOf({ method: 'POST', overridingMethods })).action, undefined);
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
