import { form, type Group, json, multipart, rawJson, text, typed, utf16, withHeader } from './group.ts';

const at = 'https://api.github.com';
const issue = json({ title: 'x' });

export const codeHosts: readonly Group[] = [
  {
    is: 'org_patterns',
    at,
    match: { tool_name: 'github', org_patterns: ['acme'] },
    holds: [
      ['a repository of it', 'POST /repos/acme/app/issues', issue],
      ['its members', 'GET /orgs/acme/members'],
      ['a new repository in it', 'POST /orgs/acme/repos', json({ name: 'new' })],
      ['a path that the table lacks', 'PUT /repos/acme/app/new-thing/1', json({})],
      [
        'an upload',
        'POST https://uploads.github.com/repos/acme/app/releases/1/assets?name=a',
        typed('application/octet-stream', 'bytes'),
      ],
      [
        'a push',
        'POST https://github.com/acme/app.git/git-receive-pack',
        typed('application/x-git-receive-pack-request', '0000'),
      ],
      ['a raw file', 'GET https://raw.githubusercontent.com/acme/app/main/a.txt'],
      ['an own host of GitHub', 'POST https://acme.ghe.com/api/v3/repos/acme/app/issues', issue],
      ['a repository by its number, which may be of it', 'POST /repositories/4711/issues', issue],
      ['another case', 'POST /repos/AcMe/app/issues', issue],
      ['an escaped letter', 'POST /repos/%61cme/app/issues', issue],
      ['doubled slashes', 'POST //repos//acme/app/issues', issue],
      ['dot segments', 'POST /repos/other/../acme/app/issues', issue],
      ['encoded dot segments', 'POST /repos/other/%2e%2e/acme/app/issues', issue],
      ['a backslash', 'POST /repos\\acme/app/issues', issue],
      ['a host in capitals', 'POST https://API.GitHub.com/repos/acme/app/issues', issue],
      ['a host with its final dot', 'POST https://api.github.com./repos/acme/app/issues', issue],
    ],
    passes: [
      ['another organisation', 'POST /repos/other/app/issues', issue],
      ['one whose name begins alike', 'POST /repos/acme-labs/app/issues', issue],
      ['a repository of that name elsewhere', 'POST /repos/other/acme/issues', issue],
      ['one that the body alone names', 'POST /repos/other/app/issues', json({ title: 'acme', org: 'acme' })],
      ['a call about nobody', 'GET /user'],
      ['the organisation at another tool', 'GET https://gitlab.com/api/v4/groups/acme'],
    ],
    stops: [
      [
        'another host in the Host field',
        'POST /repos/acme/app/issues',
        withHeader('host', 'api.gitlab.com', issue),
      ],
    ],
  },
  {
    is: 'org_patterns with a repository',
    at,
    match: { tool_name: 'github', org_patterns: ['acme/*', 'half-*'] },
    holds: [
      ['any repository of it', 'POST /repos/acme/app/issues', issue],
      ['a glob over the name', 'GET /orgs/half-life/repos'],
    ],
    passes: [
      ['another organisation', 'POST /repos/acm/app/issues', issue],
      ['one that ends alike', 'POST /repos/my-acme/app/issues', issue],
    ],
  },
  {
    is: 'repo_patterns',
    at,
    match: { repo_patterns: ['acme/payments', 'acme/infra-*'], verbs: ['WRITE', 'ADMIN'] },
    holds: [
      ['the repository', 'PUT /repos/acme/payments/pulls/7/merge', json({})],
      ['one of the glob', 'DELETE /repos/acme/infra-dns'],
      [
        'a push',
        'POST https://github.com/acme/payments.git/git-receive-pack',
        typed('application/x-git-receive-pack-request', '0000'),
      ],
      [
        'a push that only begins',
        'GET https://github.com/acme/payments.git/info/refs?service=git-receive-pack',
      ],
      ['a new one of that name', 'POST /orgs/acme/repos', json({ name: 'infra-new' })],
      ['a team that is let into it', 'PUT /orgs/other/teams/core/repos/acme/payments', json({})],
      ['another case', 'POST /repos/Acme/PAYMENTS/issues', issue],
      [
        'one that a GraphQL mutation does not tell',
        'POST /graphql',
        json({ query: 'mutation { closeIssue(input: { issueId: "I_1" }) { clientMutationId } }' }),
      ],
    ],
    passes: [
      ['reading it', 'GET /repos/acme/payments/contents/a'],
      [
        'cloning it',
        'POST https://github.com/acme/payments.git/git-upload-pack',
        typed('application/x-git-upload-pack-request', '0000'),
      ],
      ['one that begins alike', 'POST /repos/acme/payments2/issues', issue],
      ['one of that name elsewhere', 'POST /repos/other/payments/issues', issue],
      [
        'a file of that name',
        'PUT /repos/acme/app/contents/acme/payments',
        json({ message: 'x', content: '' }),
      ],
      ['no repository at all', 'POST /gists', json({ files: { a: { content: 'acme/payments' } } })],
    ],
    stops: [
      ['another ending', 'POST /repos/acme/payments.git/issues', issue],
      ['the name as a list', 'POST /orgs/acme/repos', json({ name: ['infra-new'] })],
      ['the name twice', 'POST /orgs/acme/repos', rawJson('{"name":"x","name":"infra-new"}')],
      ['the name twice, escaped', 'POST /orgs/acme/repos', rawJson('{"n\\u0061me":"infra-new","name":"x"}')],
      ['the name in UTF-16', 'POST /orgs/acme/repos', utf16({ name: 'infra-new' })],
      ['an undeclared type', 'POST /orgs/acme/repos', text('{"name":"infra-new"}')],
    ],
  },
  {
    is: 'repo_patterns at GitLab, where the path has them escaped',
    at: 'https://gitlab.com/api/v4/projects',
    match: { repo_patterns: ['acme/payments'], verbs: ['WRITE', 'ADMIN'] },
    holds: [
      ['the repository', 'PUT /acme%2Fpayments/merge_requests/1/merge', json({})],
      ['small letters', 'PUT /acme%2fpayments/merge_requests/1/merge', json({})],
      ['another case', 'PUT /Acme%2FPayments/merge_requests/1/merge', json({})],
      ['a number, which may be its', 'PUT /42/merge_requests/1/merge', json({})],
    ],
    passes: [
      ['another', 'PUT /acme%2Fapp/merge_requests/1/merge', json({})],
      ['one of that name in a group of it', 'PUT /acme%2Fsub%2Fpayments/merge_requests/1/merge', json({})],
      ['reading it', 'GET /acme%2Fpayments/merge_requests/1'],
    ],
    stops: [['an escape of an escape', 'PUT /acme%252Fpayments/merge_requests/1/merge', json({})]],
  },
  {
    is: 'repo_patterns without an organisation',
    at,
    match: { repo_patterns: ['payments'] },
    holds: [
      ['it in one', 'GET /repos/acme/payments'],
      ['it in another', 'GET /repos/other/payments'],
    ],
    passes: [['an organisation of that name', 'GET /repos/payments/app']],
  },
  {
    is: 'repo_patterns of a rule that allows',
    at,
    match: { repo_patterns: ['acme/*'], verbs: ['READ', 'WRITE'] },
    action: 'ALLOW',
    holds: [
      ['a repository', 'POST /repos/acme/app/issues', issue],
      ['a clone', 'GET https://github.com/acme/app.git/info/refs?service=git-upload-pack'],
    ],
    passes: [
      ['administering it', 'PUT /repos/acme/app/collaborators/eve', json({})],
      ['another organisation', 'POST /repos/other/app/issues', issue],
      ['another case', 'POST /repos/Acme/app/issues', issue],
      ['a repository by number', 'POST /repositories/4711/issues', issue],
      [
        'a mutation that names none',
        'POST /graphql',
        json({ query: 'mutation { closeIssue(input: { issueId: "I_1" }) { clientMutationId } }' }),
      ],
      ['another one behind a dot segment', 'POST /repos/acme/../other/app/issues', issue],
      ['one organisation beside another', 'POST /orgs/acme/repos', json({ name: ['a', 'other/b'] })],
    ],
    stops: [
      ['parameters', 'POST /repos/acme;x/app/issues', issue],
      ['a name twice', 'POST /orgs/acme/repos', rawJson('{"name":"a","name":"b"}')],
    ],
  },
  {
    is: 'operations by name',
    at,
    match: { tool_name: 'github', operations: ['merge_pr', 'add_collaborator', 'create_webhook'] },
    holds: [
      ['the one', 'PUT /repos/acme/app/pulls/7/merge', json({})],
      ['the other', 'PUT /repos/acme/app/collaborators/eve', json({})],
      [
        'a third of the organisation',
        'POST /orgs/acme/hooks',
        json({ config: { url: 'https://x.example' } }),
      ],
      ['a trailing slash', 'PUT /repos/acme/app/pulls/7/merge/', json({})],
      ['an escaped letter', 'PUT /repos/acme/app/pulls/7/m%65rge', json({})],
      ['a query', 'PUT /repos/acme/app/pulls/7/merge?x=/repos/a', json({})],
      [
        'an override in a header',
        'POST /repos/acme/app/pulls/7/merge',
        withHeader('X-HTTP-Method-Override', 'PUT', json({})),
      ],
      [
        'an override in small letters',
        'POST /repos/acme/app/pulls/7/merge',
        withHeader('x_http_method', 'put', json({})),
      ],
      [
        'the second of two overrides',
        'POST /repos/acme/app/pulls/7/merge',
        withHeader('x-http-method-override', ['PATCH', 'PUT'], json({})),
      ],
      ['an override of a GET', 'GET /repos/acme/app/pulls/7/merge', withHeader('x-method-override', 'PUT')],
      ['_method in the query', 'POST /repos/acme/app/pulls/7/merge?_method=PUT', json({})],
      ['_method in the query, escaped', 'POST /repos/acme/app/pulls/7/merge?%5fmethod=%50ut', json({})],
      ['_method in JSON', 'POST /repos/acme/app/pulls/7/merge', json({ _method: 'PUT' })],
      ['_method in JSON, escaped', 'POST /repos/acme/app/pulls/7/merge', rawJson('{"_m\\u0065thod":"PUT"}')],
      ['_method in a form', 'POST /repos/acme/app/pulls/7/merge', form('a=1&_method=put')],
      [
        '_method in multipart',
        'POST /repos/acme/app/pulls/7/merge',
        multipart('form-data', ['Content-Disposition: form-data; name="_method"\r\n\r\nPUT']),
      ],
    ],
    passes: [
      ['whether it is merged', 'GET /repos/acme/app/pulls/7/merge'],
      ['a pull request', 'POST /repos/acme/app/pulls', json({ title: 'merge', head: 'a', base: 'b' })],
      [
        'a file of that name',
        'PUT /repos/acme/app/contents/pulls/7/merge',
        json({ message: 'x', content: '' }),
      ],
      ['whoever may', 'GET /repos/acme/app/collaborators'],
      [
        'an override that means the same',
        'POST /repos/acme/app/issues',
        withHeader('x-http-method-override', 'POST', issue),
      ],
    ],
    stops: [
      ['a method in small letters', 'put /repos/acme/app/pulls/7/merge', json({})],
      [
        'nine overrides',
        'POST /repos/acme/app/pulls/7/merge',
        withHeader('x-http-method-override', 'A,B,C,D,E,F,G,H,PUT', json({})),
      ],
      [
        'two types',
        'POST /repos/acme/app/pulls/7/merge',
        withHeader('content-type', ['application/json', 'application/x-www-form-urlencoded'], {
          body: '_method=PUT',
        }),
      ],
    ],
  },
  {
    is: 'category:',
    at,
    match: { operations: ['category:webhooks', 'category:keys'] },
    holds: [
      ['a webhook', 'POST /repos/acme/app/hooks', json({ config: { url: 'https://x.example' } })],
      ['reading them', 'GET /orgs/acme/hooks'],
      ['a deploy key', 'POST /repos/acme/app/keys', json({})],
      [
        'a webhook of another tool',
        'POST https://gitlab.com/api/v4/projects/1/hooks',
        json({ url: 'https://x.example' }),
      ],
      [
        'an override',
        'POST /repos/acme/app/hooks/1',
        withHeader('x-http-method-override', 'DELETE', json({})),
      ],
    ],
    passes: [
      ['secrets', 'GET /repos/acme/app/actions/secrets'],
      ['a file below keys', 'GET /repos/acme/app/contents/keys/1'],
    ],
  },
  {
    is: 'method:',
    at,
    match: { tool_name: 'github', operations: ['method:DELETE'] },
    holds: [
      ['it', 'DELETE /repos/acme/app/git/refs/heads/main'],
      ['a path that the table lacks', 'DELETE /some/thing'],
      [
        'an override in a header',
        'POST /repos/acme/app/git/refs/heads/main',
        withHeader('X-Http-Method-Override', 'delete'),
      ],
      ['_method in the query of a GET', 'GET /repos/acme/app/git/refs/heads/main?_method=DELETE'],
      ['_method in a form', 'POST /repos/acme/app', form('_method=DELETE')],
      ['the second _method', 'POST /repos/acme/app?_method=PATCH&_method=DELETE', json({})],
      [
        '_method in the query and another in the form',
        'POST /repos/acme/app?_method=PATCH',
        form('_method=DELETE'),
      ],
    ],
    passes: [
      ['another', 'PATCH /repos/acme/app', json({})],
      ['the word in a body', 'POST /repos/acme/app/issues', json({ title: 'DELETE', method: 'DELETE' })],
      ['the word in a query', 'GET /repos/acme/app/issues?method=DELETE'],
      ['it at another tool', 'DELETE https://gitlab.com/api/v4/projects/1'],
    ],
    stops: [['in small letters', 'delete /repos/acme/app']],
  },
  {
    is: 'every operation of a tool',
    at,
    match: { tool_name: 'github', operations: ['*'] },
    holds: [
      ['a known one', 'GET /user'],
      ['an unknown one', 'POST /new/thing', json({})],
      ['GraphQL', 'POST /graphql', json({ query: '{ viewer { login } }' })],
    ],
    passes: [['a stranger whose name holds the tool', 'GET https://api.github.com.example.net/user']],
  },
  {
    is: 'principal_patterns and logins',
    at,
    match: { principal_patterns: ['mallory', 'evil-*'] },
    holds: [
      ['a collaborator', 'PUT /repos/acme/app/collaborators/mallory', json({})],
      ['a new owner', 'POST /repos/acme/app/transfer', json({ new_owner: 'evil-corp' })],
      ['another case', 'PUT /repos/acme/app/collaborators/Mallory', json({})],
      ['an escaped letter', 'PUT /repos/acme/app/collaborators/m%61llory', json({})],
      ['a list instead of a text', 'POST /repos/acme/app/transfer', json({ new_owner: ['evil-corp'] })],
      ['a fork into it', 'POST /repos/acme/app/forks', json({ organization: 'evil-corp' })],
    ],
    passes: [
      ['another collaborator', 'PUT /repos/acme/app/collaborators/mallory2', json({})],
      ['removing it', 'DELETE /repos/acme/app/collaborators/mallory'],
      [
        'an issue about it',
        'POST /repos/acme/app/issues',
        json({ title: 'mallory', new_owner: 'evil-corp' }),
      ],
    ],
    stops: [['an undeclared type', 'POST /repos/acme/app/transfer', text('{"new_owner":"evil-corp"}')]],
  },
  {
    is: 'is_external_principal of accounts',
    at,
    match: { tool_name: 'github', verbs: ['WRITE', 'ADMIN'] },
    condition: { is_external_principal: true },
    action: 'REQUIRE_APPROVAL',
    holds: [
      ['a transfer to a stranger', 'POST /repos/acme/app/transfer', json({ new_owner: 'stranger' })],
      ['an issue of another organisation', 'POST /repos/other/app/issues', issue],
      ['an invitation', 'POST /orgs/acme/invitations', json({ email: 'eve@stranger.example' })],
      [
        'a webhook to a stranger',
        'POST /repos/acme/app/hooks',
        json({ config: { url: 'https://collect.example/x' } }),
      ],
      [
        'a field twice',
        'POST /repos/acme/app/transfer',
        rawJson('{"new_owner":"stranger","new_owner":"acme"}'),
      ],
    ],
    passes: [
      ['a transfer within the organisation', 'POST /repos/acme/app/transfer', json({ new_owner: 'acme' })],
      ['an invitation of a colleague', 'POST /orgs/acme/invitations', json({ email: 'ann@acme.test' })],
      ['an issue of the own organisation', 'POST /repos/acme/app/issues', issue],
    ],
    stops: [
      [
        'a host with user information',
        'POST /repos/acme/app/hooks',
        json({ config: { url: 'https://ci.acme.test@collect.example/x' } }),
      ],
    ],
  },
];
