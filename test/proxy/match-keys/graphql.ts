import { among, type Group, json, rawJson, text } from './group.ts';

const github = 'POST https://api.github.com/graphql';
const linear = 'POST https://api.linear.app/graphql';
const merge = 'mergePullRequest(input: { pullRequestId: "PR_1" }) { clientMutationId }';
const repository =
  'query ($owner: String!, $name: String!) { repository(owner: $owner, name: $name) { id } }';
const literal = '{ repository(owner: "acme", name: "payments") { id } }';
const app = { owner: 'acme', name: 'app' };
const repositoryOf = (owner: string, name: string) => ({ query: repository, variables: { owner, name } });
const closeIssue = 'mutation { closeIssue(input: { issueId: "I_1" }) { clientMutationId } }';
const persisted = { persistedQuery: { version: 1, sha256Hash: 'a'.repeat(64) } };
const issueIn = 'mutation { issueCreate(input: { teamId: "TEAM-SEC", title: "x" }) { success } }';
const issueOf = (teamId: string) => ({
  query: 'mutation ($input: IssueCreateInput!) { issueCreate(input: $input) { success } }',
  variables: { input: { teamId, title: 'TEAM-SEC' } },
});
const comments = (count: number): string =>
  Array.from({ length: count }, (_, i) => `a${i}: addComment(input: {}) { clientMutationId }`).join(' ');
const viewer = { query: '{ viewer { login } }' };

export const graphql: readonly Group[] = [
  {
    is: 'operations of GraphQL',
    match: { tool_name: 'github', operations: ['merge_pr', 'delete_issue'] },
    holds: [
      ['a mutation', github, json({ query: `mutation { ${merge} }` })],
      ['an alias', github, json({ query: `mutation { viewer: ${merge} }` })],
      ['a fragment', github, json({ query: `mutation { ...F } fragment F on Mutation { ${merge} }` })],
      [
        'a fragment in a fragment',
        github,
        json({
          query: `mutation { ...A } fragment A on Mutation { ...B } fragment B on Mutation { x: ${merge} }`,
        }),
      ],
      ['an inline fragment', github, json({ query: `mutation { ... on Mutation { ... { ${merge} } } }` })],
      ['behind nineteen others', github, json({ query: `mutation { ${comments(19)} ${merge} }` })],
      [
        'in one of two operations, whichever is named',
        github,
        json({ query: `query A { viewer { login } } mutation B { ${merge} }`, operationName: 'A' }),
      ],
      ['one of twenty in a batch', github, json(among(20, viewer, { query: `mutation { ${merge} }` }))],
      [
        'a field that a variable switches off',
        github,
        json({
          query:
            'mutation ($no: Boolean!) { mergePullRequest(input: {}) @include(if: $no) { clientMutationId } }',
          variables: { no: false },
        }),
      ],
      ['commas and comments', github, json({ query: `mutation #{\n,,,{#}\n ${merge} }` })],
      [
        'escapes',
        github,
        rawJson(`{"qu\\u0065ry":${JSON.stringify(`mutation { ${merge} }`).replace('merge', '\\u006derge')}}`),
      ],
      ['declared as a text', github, text(JSON.stringify({ query: `mutation { ${merge} }` }))],
      [
        'another path of the API',
        'POST https://acme.ghe.com/api/graphql',
        json({ query: `mutation { ${merge} }` }),
      ],
      ['in the query', `${github}?query=${encodeURIComponent(`mutation { ${merge} }`)}`, json({})],
      [
        'in the query beside another in the body',
        `${github}?query=${encodeURIComponent(`mutation { ${merge} }`)}`,
        json(viewer),
      ],
      [
        'in lines',
        github,
        rawJson(`${JSON.stringify(viewer)}\n${JSON.stringify({ query: `mutation { ${merge} }` })}`),
      ],
    ],
    passes: [
      ['a query', github, json(viewer)],
      [
        'another mutation',
        github,
        json({ query: 'mutation { addComment(input: { body: "mergePullRequest" }) { clientMutationId } }' }),
      ],
      ['the name as an alias', github, json({ query: '{ mergePullRequest: viewer { login } }' })],
      [
        'the name of an operation',
        github,
        json({ query: 'query mergePullRequest { viewer { login } }', operationName: 'mergePullRequest' }),
      ],
      ['the name below the root', github, json({ query: '{ viewer { mergePullRequest } }' })],
      [
        'the name in a variable',
        github,
        json({
          query: 'query ($x: String) { user(login: $x) { id } }',
          variables: { x: 'mergePullRequest' },
        }),
      ],
      ['a batch of queries', github, json(Array(20).fill(viewer))],
    ],
    stops: [
      ['a doubled slash', 'POST https://api.github.com//graphql', json({ query: `mutation { ${merge} }` })],
      ['a trailing slash', 'POST https://api.github.com/graphql/', json({ query: `mutation { ${merge} }` })],
    ],
  },
  {
    is: 'repo_patterns of GraphQL',
    match: { tool_name: 'github', repo_patterns: ['acme/payments'] },
    holds: [
      ['in variables', github, json(repositoryOf('acme', 'payments'))],
      ['in the document', github, json({ query: literal })],
      ['in the document, beside variables for show', github, json({ query: literal, variables: app })],
      [
        'in variables of other names',
        github,
        json({
          query: 'query ($a: String!, $b: String!) { repository(owner: $a, name: $b) { id } }',
          variables: { ...app, a: 'acme', b: 'payments' },
        }),
      ],
      ['one that nobody can tell', github, json({ query: closeIssue })],
      [
        'one that nobody can tell, beside variables for show',
        github,
        json({ query: closeIssue, variables: app }),
      ],
      [
        'one of twenty in a batch',
        github,
        json(among<object>(20, repositoryOf('acme', 'app'), { query: literal })),
      ],
    ],
    passes: [
      ['another in variables', github, json(repositoryOf('acme', 'app'))],
      ['another in the document', github, json({ query: literal.replace('payments', 'app') })],
    ],
  },
  {
    is: 'repo_patterns of GraphQL, of a rule that allows',
    match: { tool_name: 'github', repo_patterns: ['acme/*'] },
    action: 'ALLOW',
    holds: [
      ['one in variables', github, json(repositoryOf('acme', 'app'))],
      ['one in the document', github, json({ query: literal })],
    ],
    passes: [
      ['another', github, json(repositoryOf('other', 'app'))],
      ['another in the document', github, json({ query: literal.replace('acme', 'other'), variables: app })],
      [
        'another in variables of other names',
        github,
        json({ query: repository.replaceAll('$owner', '$whose'), variables: { ...app, whose: 'other' } }),
      ],
      ['one that nobody can tell', github, json({ query: closeIssue, variables: app })],
      ['a document that is at the vendor', github, json({ variables: app, extensions: persisted })],
      ['one beside another', github, json([repositoryOf('acme', 'app'), repositoryOf('other', 'app')])],
    ],
  },
  {
    is: 'account_patterns of Linear',
    match: { tool_name: 'linear', operations: ['create_issue'], account_patterns: ['TEAM-SEC'] },
    holds: [
      ['in variables', linear, json(issueOf('TEAM-SEC'))],
      ['in the document', linear, json({ query: issueIn })],
      [
        'in the document, beside variables for show',
        linear,
        json({ ...issueOf('TEAM-OPS'), query: issueIn }),
      ],
      ['one of twenty in a batch', linear, json(among<object>(20, viewer, issueOf('TEAM-SEC')))],
    ],
    passes: [
      ['another team', linear, json(issueOf('TEAM-OPS'))],
      ['a query', linear, json({ query: '{ issues { nodes { id } } }' })],
    ],
  },
];
