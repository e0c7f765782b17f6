import type { Rule } from '../../../src/policy/index.ts';
import type { GivenFacts } from '../facts.ts';
import type { Row } from './row.ts';

const agentId = '5b0c7f0e-7a54-4b0e-9a55-0a2f6f0f7c11';
const otherId = '5b0c7f0e-7a54-4b0e-9a55-0a2f6f0f7c12';
const on = (resource: object): GivenFacts => ({ operation: { resource } });
const to = (...principals: string[]): GivenFacts => ({ operation: { principals } });
const tool = (toolName: string): GivenFacts => ({ operation: { toolName } });
const named = (name: string): GivenFacts => ({ operation: { name } });
const at = (url: string): GivenFacts => ({ url });

/** Each match key of the language; the compiler asks for all of them. */
export const matchKeys: Record<keyof Rule['match'], Row[]> = {
  tool_name: [
    {
      match: { tool_name: 'github' },
      holds: [tool('github')],
      fails: [{}, tool('slack')],
      edgeFails: [tool('GitHub'), tool('github2'), tool('githu'), tool('')],
    },
    // Names are no globs.
    { match: { tool_name: 'git*' }, holds: [tool('git*')], fails: [tool('github')] },
  ],
  tool_names: [
    {
      match: { tool_names: ['github', 'slack'] },
      holds: [tool('github'), tool('slack')],
      fails: [tool('aws'), {}],
      edgeFails: [tool('Slack'), tool('github,slack')],
    },
    // Both keys are asked.
    {
      match: { tool_name: 'github', tool_names: ['github', 'slack'] },
      holds: [tool('github')],
      fails: [tool('slack')],
    },
    { match: { tool_name: 'aws', tool_names: ['github'] }, holds: [], fails: [tool('github'), tool('aws')] },
  ],
  operations: [
    {
      match: { operations: ['create_pr', 'merge_pr'] },
      holds: [named('create_pr'), named('merge_pr')],
      fails: [named('list_prs')],
      edgeFails: [named('create_pr_comment'), named('Create_PR'), named('')],
    },
    {
      match: { operations: ['category:messaging'] },
      holds: [{ operation: { category: 'messaging' } }],
      fails: [{}],
      edgeFails: [{ operation: { category: 'messaging2' } }, named('category:messaging'), named('messaging')],
    },
    {
      match: { operations: ['method:delete'] },
      holds: [{ method: 'DELETE' }],
      fails: [{ method: 'POST' }],
      edgeHolds: [{ method: 'Delete' }, { method: 'POST', overridingMethods: ['DELETE'] }],
      edgeFails: [{ method: 'DELETED' }, named('method:delete')],
    },
    {
      match: { operations: ['POST:/v1/x'] },
      holds: [named('POST:/v1/x')],
      fails: [named('POST:/v1/y'), { method: 'POST' }],
    },
    { match: { operations: ['merge_pr', '*'] }, holds: [named('anything'), {}], fails: [] },
    {
      match: { operations: ['*'], tool_name: 'github' },
      holds: [{ operation: { toolName: 'github', name: 'x' } }],
      fails: [tool('slack')],
    },
    // Only the star alone is one.
    { match: { operations: ['create_*'] }, holds: [named('create_*')], fails: [named('create_pr')] },
  ],
  verbs: [
    {
      match: { verbs: ['WRITE', 'ADMIN'] },
      holds: [{}, { operation: { verb: 'ADMIN' } }],
      fails: [{ operation: { verb: 'READ' } }],
    },
    {
      match: { verbs: ['READ'] },
      holds: [{ operation: { verb: 'READ' } }],
      fails: [{ operation: { verb: 'ADMIN' } }],
      // The verb is what the operation does, not how it is sent.
      edgeHolds: [{ method: 'POST', operation: { verb: 'READ' } }],
      edgeFails: [{ method: 'GET', operation: { verb: 'WRITE' } }],
    },
  ],
  methods: [
    {
      match: { methods: ['post', 'Put'] },
      holds: [{ method: 'POST' }, { method: 'PUT' }],
      fails: [{ method: 'GET' }],
      edgeHolds: [{ method: 'put' }, { method: 'GET', overridingMethods: ['PUT'] }],
      edgeFails: [{ method: 'POSTS' }, { method: 'POS' }, { method: '' }],
    },
    { match: { methods: ['PROPFIND'] }, holds: [{ method: 'propfind' }], fails: [{ method: 'PROPPATCH' }] },
  ],
  agent_ids: [
    {
      match: { agent_ids: [agentId.toUpperCase()] },
      holds: [{ agentId }],
      fails: [{ agentId: otherId }],
      edgeHolds: [{ agentId: otherId, ownAgent: { agentId, runtimeType: null } }],
      edgeFails: [{ agentId: agentId.slice(0, -1) }],
    },
    { match: { agent_ids: [otherId, agentId] }, holds: [{ agentId }, { agentId: otherId }], fails: [] },
  ],
  agent_runtime_types: [
    {
      match: { agent_runtime_types: ['crewai', 'langgraph'] },
      holds: [{ runtimeType: 'crewai' }, { runtimeType: 'langgraph' }],
      fails: [{ runtimeType: 'langchain' }],
      edgeHolds: [{ runtimeType: 'custom', ownAgent: { agentId, runtimeType: 'crewai' } }],
      edgeFails: [{ runtimeType: undefined }, { runtimeType: 'CrewAI' }, { runtimeType: '' }],
    },
  ],
  org_patterns: [
    {
      match: { org_patterns: ['acme'] },
      holds: [on({ org: 'acme' }), on({ repo: 'acme/app' })],
      fails: [{}, on({ org: 'other' })],
      edgeHolds: [on({ org: 'Acme' }), on({ org: 'other,acme' }), on({ unknown: ['org'] })],
      edgeFails: [on({ org: 'acme2' }), on({ org: 'xacme' }), on({ org: '' }), on({ repo: 'acme' })],
    },
    {
      match: { org_patterns: ['acme-*', '?corp'] },
      holds: [on({ org: 'acme-eu' }), on({ org: 'xcorp' })],
      fails: [on({ org: 'acme' })],
      edgeHolds: [on({ org: 'acme-' })],
      edgeFails: [on({ org: 'corp' }), on({ org: 'xxcorp' })],
    },
    {
      match: { org_patterns: ['acme/*'] },
      holds: [on({ org: 'acme', repo: 'acme/app' })],
      fails: [on({ org: 'acme' }), on({ org: 'other', repo: 'other/app' })],
      edgeHolds: [on({ org: 'acme', repo: 'acme/group/app' })],
      edgeFails: [on({ org: 'acme2', repo: 'acme2/app' })],
    },
    // The star of an organisation's name does not reach into its repositories.
    {
      match: { org_patterns: ['a*e'] },
      holds: [on({ repo: 'acme/app' })],
      fails: [on({ org: 'abc', repo: 'abc/code' })],
    },
  ],
  repo_patterns: [
    {
      match: { repo_patterns: ['acme/*'] },
      holds: [on({ repo: 'acme/app' })],
      fails: [{}, on({ repo: 'other/app' })],
      edgeHolds: [on({ repo: 'acme/sub/app' }), on({ repo: 'ACME/app' }), on({ repo: 'x/y,acme/app' })],
      edgeFails: [on({ repo: 'acme-evil/app' }), on({ org: 'acme' }), on({ repo: 'x/acme/app' })],
    },
    {
      match: { repo_patterns: ['infra-*'] },
      holds: [on({ repo: 'acme/infra-eu' })],
      fails: [on({ repo: 'acme/app' })],
      edgeFails: [on({ repo: 'acme/app-infra-eu' })],
    },
    {
      match: { repo_patterns: ['acme/[a-c]*'] },
      holds: [on({ repo: 'acme/backend' })],
      fails: [on({ repo: 'acme/docs' })],
      edgeHolds: [on({ repo: 'acme/a' }), on({ repo: 'acme/c1' }), on({ repo: 'acme/Backend' })],
      edgeFails: [on({ repo: 'acme/' })],
    },
    {
      match: { repo_patterns: ['acme/app'] },
      holds: [on({ unknown: ['repo'] })],
      fails: [on({ unknown: ['org'] })],
    },
  ],
  channel_patterns: [
    {
      match: { channel_patterns: ['#ops-*', 'general'] },
      holds: [on({ channel: 'ops-eu' }), on({ channel: 'general' })],
      fails: [{}, on({ channel: 'random' })],
      edgeHolds: [on({ channel: '#ops-eu' }), on({ channel: '#general' }), on({ channel: 'a,general' })],
      edgeFails: [on({ channel: 'devops-eu' }), on({ channel: '##general' }), on({ channel: 'General' })],
    },
  ],
  region_patterns: [
    {
      match: { region_patterns: ['eu-*', 'us-east-?'] },
      holds: [on({ region: 'eu-central-1' }), on({ region: 'us-east-1' })],
      fails: [{}, on({ region: 'us-west-1' })],
      edgeHolds: [on({ region: 'eu-' }), on({ unknown: ['region'] })],
      edgeFails: [on({ region: 'EU-west-1' }), on({ region: 'us-east-10' }), on({ region: 'xeu-west-1' })],
    },
  ],
  account_patterns: [
    {
      match: { account_patterns: ['1234*'] },
      holds: [on({ account: '123456789012' })],
      fails: [{}, on({ account: '555566667777' })],
      edgeHolds: [on({ account: '1234' })],
      edgeFails: [on({ account: '123' }), on({ account: '999123456789' })],
    },
    {
      match: { account_patterns: ['[!9]*'] },
      holds: [on({ account: '1' })],
      fails: [on({ account: '91' })],
      edgeFails: [on({ account: '' })],
    },
  ],
  aws_tags: [
    {
      match: { aws_tags: { env: 'prod', team: 'pay' } },
      holds: [
        on({ tags: { env: ['prod'], team: ['pay'] } }),
        on({ tags: { env: ['prod'], team: ['pay'], x: ['y'] } }),
      ],
      fails: [{}, on({ tags: {} }), on({ tags: { env: ['prod'] } })],
      edgeFails: [
        on({ tags: { env: ['Prod'], team: ['pay'] } }),
        on({ tags: { Env: ['prod'], team: ['pay'] } }),
      ],
    },
    // No glob, and no name that every object has.
    {
      match: { aws_tags: { env: 'p*' } },
      holds: [on({ tags: { env: ['p*'] } })],
      fails: [on({ tags: { env: ['prod'] } })],
    },
    // Of several values the vendor takes one: what allows wants all of them.
    {
      match: { aws_tags: { env: 'prod' } },
      holds: [on({ tags: { env: ['prod'] } })],
      fails: [on({ tags: { env: ['dev'] } })],
      edgeHolds: [on({ tags: { env: ['dev', 'prod'] } }), on({ unknown: ['tags'] })],
    },
    {
      match: { aws_tags: { constructor: 'x' } },
      holds: [on({ tags: { constructor: ['x'] } })],
      fails: [on({ tags: {} })],
    },
  ],
  principal_patterns: [
    {
      match: { principal_patterns: ['acme.com'] },
      holds: [to('bob@acme.com'), to('x@y.z', 'bob@acme.com')],
      fails: [{}, to('eve@evil.example')],
      edgeHolds: [to('bob@ACME.com'), to('Bob <bob@acme.com>'), to('bob@acme.com.'), to('acme.com')],
      edgeFails: [
        to('bob@acme.com.evil.example'),
        to('bob@notacme.com'),
        to('bob@sub.acme.com'),
        to('acme.com@evil.example'),
        to('bob@acme.com <eve@evil.example>'),
      ],
    },
    {
      match: { principal_patterns: ['@acme.com$'] },
      holds: [to('bob@acme.com')],
      fails: [to('eve@evil.example')],
      edgeFails: [to('bob@acme.com.br'), to('acme.com')],
    },
    {
      match: { principal_patterns: ['*.acme.com'] },
      holds: [to('bob@mail.acme.com')],
      fails: [to('bob@acme.com')],
    },
    {
      match: { principal_patterns: ['bob@ACME.com'] },
      holds: [to('bob@acme.com')],
      fails: [to('eve@acme.com')],
      // What a mail server delivers to Bob all the same must not be a way around a denial.
      edgeHolds: [to('BOB@acme.com'), to('Bob <bob@acme.com>'), to('bob@acme.com.')],
      edgeFails: [to('xbob@acme.com'), to('bob@acme.com.br')],
    },
    {
      match: { principal_patterns: ['arn:aws:iam::123:role/*'] },
      holds: [to('arn:aws:iam::123:role/admin')],
      fails: [to('arn:aws:iam::999:role/admin')],
    },
    {
      match: { principal_patterns: ['octo*'] },
      holds: [to('octocat')],
      fails: [to('x@y.z')],
      edgeHolds: [to('OctoCat')],
    },
    {
      action: 'ALLOW',
      match: { principal_patterns: ['acme.com', 'Octo*'] },
      holds: [to('bob@acme.com'), to('bob@Acme.com', 'Octocat')],
      fails: [{}, to('bob@acme.com', 'eve@evil.example')],
      edgeFails: [to('octocat')],
    },
  ],
  url_patterns: [
    {
      match: { url_patterns: ['https://api.x.com/v1/'] },
      holds: [at('https://api.x.com/v1/a?b=c')],
      fails: [at('https://other.example/v1/'), at('https://api.x.com/v2/')],
      edgeHolds: [
        at('https://api.x.com/v1/'),
        at('HTTPS://API.X.COM:443/v1/'),
        at('https://api.x.com/%76%31/'),
        // Many hosts serve the same without TLS, and by WebSocket.
        at('http://api.x.com/v1/'),
        at('wss://api.x.com/v1/'),
      ],
      edgeFails: [
        at('https://api.x.com/v1'),
        at('https://api.x.com/V1/'),
        at('ftp://api.x.com/v1/'),
        at('https://api.x.com.evil.com/v1/'),
      ],
    },
    {
      match: { url_patterns: ['https://api.x.com'] },
      holds: [at('https://api.x.com/'), at('https://api.x.com/v1')],
      fails: [at('https://x.com/')],
      edgeHolds: [at('https://api.x.com:8443/')],
      edgeFails: [at('https://api.x.community/'), at('https://api.x.com.evil.example/')],
    },
    {
      match: { url_patterns: ['https://nothing.example/', 'https://*.x.com/admin*'] },
      holds: [at('https://a.x.com/admin/users'), at('https://a.b.x.com/admin')],
      fails: [at('https://a.x.com/user')],
      edgeHolds: [at('https://evil.example/?.x.com/admin')],
      edgeFails: [at('https://x.com/admin'), at('https://a.x.com/x/admin')],
    },
    {
      action: 'ALLOW',
      match: { url_patterns: ['https://*.x.com/v?/*'] },
      holds: [at('https://a.x.com/v1/b/c')],
      fails: [at('https://a.x.com/v10/b')],
      edgeFails: [at('https://evil.example/?.x.com/v1/'), at('https://a.x.com/v1/..%2f..%2fadmin')],
    },
  ],
};
