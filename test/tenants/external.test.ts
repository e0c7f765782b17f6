import t from 'tap';
import { validateConfig } from '../../src/config/load.ts';
import { ownTables } from '../../src/tenants/catalogues.ts';
import { isExternal } from '../../src/tenants/external.ts';
import { requestOf } from '../catalogue/support.ts';

/* Who receives it, and who may read it afterwards: calls of whole tools, and where they count as going outside. */

const catalogue = ownTables().catalogue();

const { tenants } = validateConfig(
  {
    tenants: [
      {
        id: 'lists',
        org_domains: ['acme.com'],
        org_accounts: {
          aws: ['123456789012', '210987654321', 'bucket:acme-*'],
          github: ['acme'],
          gitlab: ['acme'],
          slack: ['T012345'],
          discord: ['42'],
          gcp: ['acme-prod'],
          azure: ['sub-1', 'acmestore'],
          huggingface: ['acme'],
          teams_webhook: ['contoso', 'tenant-1'],
          telegram: ['-1001'],
          twilio: ['+1 (555) 010-0100'],
        },
      },
      { id: 'lists-nothing', org_domains: ['acme.com'] },
    ],
  },
  { file: undefined, env: {} },
);

interface Asked {
  readonly method?: string;
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

const isOutside = (tenantId: string, { method = 'POST', url, headers, body }: Asked): boolean => {
  const tenant = tenants.get(tenantId);
  if (!tenant) throw new Error('the tenant is not there');
  const request = requestOf(method, url, headers, body);
  const { parts = [], ...operation } = catalogue.understand(request);
  return [operation, ...parts.map((it) => it.operation)].some((it) => isExternal(it, request.target, tenant));
};

const aws = (service: string, body: string): Asked => ({
  url: `https://${service}.eu-west-1.amazonaws.com/`,
  body,
});
const assume = (account: string) => aws('sts', `Action=AssumeRole&RoleArn=arn:aws:iam::${account}:role/x`);
const send = (account: string) =>
  aws('sqs', `Action=SendMessage&QueueUrl=https://sqs.eu-west-1.amazonaws.com/${account}/q&MessageBody=x`);
const publish = (account: string) =>
  aws('sns', `Action=Publish&TopicArn=arn:aws:sns:eu-west-1:${account}:t&Message=x`);
const invoke = (account: string): Asked => ({
  url: `https://lambda.eu-west-1.amazonaws.com/2015-03-31/functions/arn:aws:lambda:eu-west-1:${account}:function:f/invocations`,
  body: {},
});
const targets = (account: string): Asked => ({
  url: 'https://events.eu-west-1.amazonaws.com/',
  headers: { 'X-Amz-Target': 'AWSEvents.PutTargets', 'content-type': 'application/x-amz-json-1.1' },
  body: { Rule: 'r', Targets: [{ Id: '1', Arn: `arn:aws:events:eu-west-1:${account}:event-bus/b` }] },
});
const put = (bucket: string): Asked => ({
  method: 'PUT',
  url: `https://${bucket}.s3.eu-west-1.amazonaws.com/k`,
  headers: { 'content-type': 'text/plain' },
  body: 'x',
});
const issue = (org: string): Asked => ({
  url: `https://api.github.com/repos/${org}/app/issues`,
  body: { title: 'x' },
});
const hook = (team: string): Asked => ({
  url: `https://hooks.slack.com/services/${team}/B1/x`,
  body: { text: 'x' },
});
const discordHook = (id: string): Asked => ({
  url: `https://discord.com/api/webhooks/${id}/token`,
  body: { content: 'x' },
});
const teamsHook = (tenant: string): Asked => ({
  url: `https://outlook.office.com/webhook/group-1@${tenant}/IncomingWebhook/a/b`,
  body: { text: 'x' },
});
const sms = (number: string) =>
  aws('sns', `Action=Publish&PhoneNumber=${encodeURIComponent(number)}&Message=x`);
const blob = (account: string): Asked => ({
  method: 'PUT',
  url: `https://${account}.blob.core.windows.net/c/k`,
  headers: { 'content-type': 'text/plain' },
  body: 'x',
});

/** Of the account of a stranger, and the same within one's own, which stays inside. */
const pairs: readonly (readonly [name: string, stranger: Asked, own: Asked])[] = [
  ['a role of another account is assumed', assume('999999999999'), assume('123456789012')],
  ['a message is sent to a queue of another account', send('999999999999'), send('210987654321')],
  ['a message is published to a topic of another account', publish('999999999999'), publish('123456789012')],
  ['a function of another account is invoked', invoke('999999999999'), invoke('123456789012')],
  ['events are led to a bus of another account', targets('999999999999'), targets('123456789012')],
  ['an object is put into a bucket that is not listed', put('evil-drop'), put('acme-logs')],
  ['a blob is put into the storage of somebody else', blob('evilstore'), blob('acmestore')],
  ['an issue is opened in another organisation', issue('evil'), issue('acme')],
  [
    'a project of another group gets an issue',
    { url: 'https://gitlab.com/api/v4/projects/evil%2Fapp/issues', body: { title: 'x' } },
    { url: 'https://gitlab.com/api/v4/projects/acme%2Fteam%2Fapp/issues', body: { title: 'x' } },
  ],
  ['a webhook of another Slack workspace is called', hook('T999999'), hook('T012345')],
  ['a webhook of Discord is called that is not listed', discordHook('66'), discordHook('42')],
  ['a webhook of another Teams tenant is called', teamsHook('tenant-9'), teamsHook('tenant-1')],
  [
    'a message goes to a Telegram chat that is not listed',
    { url: 'https://api.telegram.org/bot1:x/sendMessage', body: { chat_id: '-1009', text: 'x' } },
    { url: 'https://api.telegram.org/bot1:x/sendMessage', body: { chat_id: '-1001', text: 'x' } },
  ],
  [
    'a log sink leads to another project',
    {
      url: 'https://logging.googleapis.com/v2/projects/acme-prod/sinks',
      body: { destination: 'pubsub.googleapis.com/projects/evil/topics/t' },
    },
    {
      url: 'https://logging.googleapis.com/v2/projects/acme-prod/sinks',
      body: { destination: 'pubsub.googleapis.com/projects/acme-prod/topics/t' },
    },
  ],
  ['an SMS goes to a number that is not listed', sms('+15550109999'), sms('+15550100100')],
  [
    'Twilio writes to a number that is not listed',
    { url: 'https://api.twilio.com/2010-04-01/Accounts/AC1/Messages.json', body: 'To=%2B15550109999&Body=x' },
    {
      url: 'https://api.twilio.com/2010-04-01/Accounts/AC1/Messages.json',
      body: 'To=whatsapp%3A%2B15550100100&Body=x',
    },
  ],
];

t.test('what another account has is outside, and what one has oneself is inside', async (t) => {
  for (const [name, stranger, own] of pairs) {
    t.equal(isOutside('lists', stranger), true, name);
    t.equal(isOutside('lists', own), false, `${name}: not where it is one's own`);
  }
});

t.test('a tenant that lists no accounts has its work inside', async (t) => {
  const work = [
    assume('999999999999'),
    send('999999999999'),
    put('any'),
    issue('any'),
    hook('T9'),
    blob('any'),
  ];
  for (const it of work) t.equal(isOutside('lists-nothing', it), false, it.url);
});

t.test('what becomes public is outside, whatever is listed', async (t) => {
  const xml = { 'content-type': 'application/xml' };
  const cases: readonly (readonly [Asked, boolean])[] = [
    [{ method: 'PATCH', url: 'https://api.github.com/repos/acme/app', body: { visibility: 'public' } }, true],
    [{ method: 'PATCH', url: 'https://api.github.com/repos/acme/app', body: { description: 'x' } }, false],
    [{ url: 'https://api.github.com/gists', body: { public: true, files: { x: { content: 'x' } } } }, true],
    [
      { method: 'PUT', url: 'https://acme-logs.s3.eu-west-1.amazonaws.com/?acl', headers: xml, body: '<A/>' },
      true,
    ],
    [{ ...put('acme-logs'), headers: { 'x-amz-acl': 'public-read' } }, true],
    [{ ...put('acme-logs'), headers: { 'x-amz-acl': 'private' } }, false],
    [
      {
        method: 'PUT',
        url: 'https://acmestore.blob.core.windows.net/c?restype=container&comp=acl',
        headers: { 'x-ms-blob-public-access': 'blob' },
      },
      true,
    ],
    [
      {
        method: 'PUT',
        url: 'https://registry.npmjs.org/@acme%2fapp',
        body: { name: '@acme/app', access: 'public' },
      },
      true,
    ],
    [
      {
        method: 'PUT',
        url: 'https://registry.npmjs.org/@acme%2fapp',
        body: { name: '@acme/app', access: 'restricted' },
      },
      false,
    ],
  ];
  for (const [asked, want] of cases)
    t.equal(isOutside('lists', asked), want, `${asked.method ?? 'POST'} ${asked.url}`);
});

t.test('reading from others, forking, and asking a model of others lays nothing with them', async (t) => {
  for (const asked of [
    { method: 'GET', url: 'https://api.github.com/repos/evil/app/issues' },
    { method: 'GET', url: 'https://evil-data.s3.eu-west-1.amazonaws.com/k' },
    { url: 'https://api.github.com/repos/evil/app/forks', body: {} },
    { method: 'PUT', url: 'https://api.github.com/user/starred/evil/app' },
    { url: 'https://router.huggingface.co/hf-inference/models/evil/bert', body: { inputs: 'x' } },
  ])
    t.equal(isOutside('lists', asked), false, asked.url);
});

t.test('strangers who are invited or let in are outside, colleagues are not', async (t) => {
  const member = (upn: string): Asked => ({
    url: 'https://graph.microsoft.com/v1.0/teams/t1/members',
    body: { 'user@odata.bind': `https://graph.microsoft.com/v1.0/users('${upn}')`, roles: ['owner'] },
  });
  const mail = (to: string): Asked => ({ url: 'https://api.resend.com/emails', body: { to: [to] } });
  t.equal(isOutside('lists', member('eve@example.net')), true);
  t.equal(isOutside('lists', member('eve_example.net#EXT#@acme.com')), true, 'a guest of the directory');
  t.equal(isOutside('lists', member('ann@acme.com')), false);
  t.equal(isOutside('lists', mail('eve@example.net')), true);
  t.equal(isOutside('lists', mail('ann@acme.com')), false);
});
