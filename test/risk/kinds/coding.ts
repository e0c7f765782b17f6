import { type Desk, type Kind, pauseMs, type Routine, type Step } from '../agent.ts';
import { prose } from '../texts.ts';

/* Agents that work on code. */

const api = 'https://api.github.com/repos/acme';
const headers = ({ tokens }: Desk) => ({ authorization: `Bearer ${tokens['github']}` });
const folders = ['src/api', 'src/store', 'test', 'docs', 'infra'];
const files = ['index.ts', 'server.go', 'README.md', 'main.tf', 'handler.py', 'schema.sql'];

/** Now and then one that it has not worked on yet. */
function repoOf({ random, places }: Desk): string {
  return random.chance(0.02) ? `experiment-${random.integer(1, 40)}` : random.pick(places);
}

const readFiles = (desk: Desk, repo: string, count: number): Step[] =>
  Array.from({ length: count }, () => ({
    afterMs: pauseMs(desk.random),
    method: 'GET',
    url: `${api}/${repo}/contents/${desk.random.pick(folders)}/${desk.random.pick(files)}`,
    headers: headers(desk),
  }));

const workOnIssue: Routine = (desk) => {
  const { random } = desk;
  const [repo, issue] = [repoOf(desk), random.integer(10, 900)];
  const own = { headers: headers(desk) };
  const comment = { body: prose(random, random.logNormal(250, 0.7)) };
  return [
    { afterMs: 0, method: 'GET', url: `${api}/${repo}/issues/${issue}`, ...own },
    ...readFiles(desk, repo, random.integer(1, 4)),
    {
      afterMs: pauseMs(random) * 3,
      method: 'POST',
      url: `${api}/${repo}/issues/${issue}/comments`,
      body: comment,
      ...own,
    },
  ];
};

const openPullRequest: Routine = (desk) => {
  const { random } = desk;
  const [repo, branch] = [repoOf(desk), `fix-${random.integer(100, 999)}`];
  const own = { headers: headers(desk) };
  const code = Buffer.from(`// ${prose(random, random.logNormal(1_500, 0.8))}\n`).toString('base64');
  const sha = random.text('0123456789abcdef', 40);
  return [
    {
      afterMs: 0,
      method: 'POST',
      url: `${api}/${repo}/git/refs`,
      body: { ref: `refs/heads/${branch}`, sha },
      ...own,
    },
    {
      afterMs: pauseMs(random),
      method: 'PUT',
      url: `${api}/${repo}/contents/${random.pick(folders)}/${random.pick(files)}`,
      body: { message: prose(random, 40), branch, content: code },
      ...own,
    },
    {
      afterMs: pauseMs(random),
      method: 'POST',
      url: `${api}/${repo}/pulls`,
      body: {
        title: prose(random, 40),
        head: branch,
        base: 'main',
        body: prose(random, random.logNormal(400, 0.6)),
      },
      ...own,
    },
  ];
};

const linear = (afterMs: number, query: string, variables: object): Step => ({
  afterMs,
  method: 'POST',
  url: 'https://api.linear.app/graphql',
  body: { query, variables },
});

const moveTicket: Routine = ({ random }) => {
  const id = `ENG-${random.integer(100, 999)}`;
  const read = 'query Issue($id: String!) { issue(id: $id) { id title description state { name } } }';
  const write =
    'mutation Move($id: String!, $input: IssueUpdateInput!) { issueUpdate(id: $id, input: $input) { success } }';
  return [
    linear(0, read, { id }),
    linear(pauseMs(random), write, { id, input: { stateId: random.pick(['doing', 'review', 'done']) } }),
  ];
};

/** A whole list of issues gets a label: several writes within a minute, and nothing wrong with them. */
const label: Routine = (desk) => {
  const { random } = desk;
  const repo = random.pick(desk.places);
  return Array.from({ length: random.integer(3, 6) }, (_, at) => ({
    afterMs: at === 0 ? 0 : random.integer(6_000, 11_000),
    method: 'POST',
    url: `${api}/${repo}/issues/${random.integer(10, 900)}/labels`,
    body: { labels: [random.pick(['bug', 'docs', 'later'])] },
    headers: headers(desk),
  }));
};

export const coding: Kind = {
  runtimeType: 'claude_code',
  places: ['web', 'api', 'billing', 'mobile', 'infra', 'search', 'docs', 'design'],
  tokens: ['github'],
  routines: [
    [5, workOnIssue],
    [2, openPullRequest],
    [3, moveTicket],
    [0.5, label],
  ],
};
