import { bucket, dynamodb, ec2, foreign, iam, own, secrets, target, trust } from './aws-calls.ts';
import { type Content, form, type Group, json, typed, withHeader } from './group.ts';

const enc = encodeURIComponent;
const issue = json({ title: 'x' });
const github = 'https://api.github.com';
const merge = 'mutation { mergePullRequest(input: { pullRequestId: "PR_1" }) { clientMutationId } }';
const graph = 'https://graph.microsoft.com/v1.0';
const to = (...addresses: string[]) => ({
  message: { subject: 'x', toRecipients: addresses.map((address) => ({ emailAddress: { address } })) },
});
const b64 = (text: string): string => Buffer.from(text).toString('base64url');
const send = 'POST https://gmail.googleapis.com/gmail/v1/users/me/messages/send';
const mail = (head: string): Content => json({ raw: b64(`${head}\r\nSubject: hi\r\n\r\nhi`) });
const slack = 'https://slack.com/api';
const tag = 'Action=CreateTags&ResourceId.1=i-1&Tag.1.Key=stage&Tag.1.Value=production';
const twoResources =
  'Action=RunInstances&TagSpecification.1.ResourceType=instance&TagSpecification.1.Tag.1.Key=stage&TagSpecification.1.Tag.1.Value=production&TagSpecification.2.ResourceType=volume&TagSpecification.2.Tag.1.Key=stage&TagSpecification.2.Tag.1.Value=test';
const hundredTags = Array.from({ length: 101 }, (_, i) => {
  const at = `TagSpecification.${1 + Math.floor(i / 50)}.Tag.${1 + (i % 50)}`;
  return `${at}.Key=k${i}&${at}.Value=v`;
}).join('&');

/* What can be read in two ways: a rule that allows must hold for both, any other for one. */

export const readings: readonly Group[] = [
  {
    is: 'paths in other readings: org_patterns',
    at: github,
    match: { tool_name: 'github', org_patterns: ['acme'] },
    holds: [],
    passes: [],
    stops: [
      ['an encoded slash', 'POST /repos/acme%2Fapp/issues', issue],
      ['an encoded slash before it', 'POST /repos%2Facme/app/issues', issue],
      ['an escape of an escape', 'POST /repos/%2561cme/app/issues', issue],
      ['parameters of a segment', 'POST /repos/acme;v=1/app/issues', issue],
      ['parameters of the first segment', 'POST /repos;v=1/acme/app/issues', issue],
      ['encoded dots and slashes', 'POST /repos/other/..%2facme/app/issues', issue],
      ['an escaped line end', 'POST /repos/acme%0a/app/issues', issue],
    ],
  },
  {
    is: 'paths in other readings: repo_patterns',
    at: github,
    match: { repo_patterns: ['acme/payments'], verbs: ['WRITE', 'ADMIN'] },
    holds: [],
    passes: [],
    stops: [
      ['an encoded slash', 'POST /repos/acme%2Fpayments/issues', issue],
      ['parameters', 'POST /repos/acme/payments;v=1/issues', issue],
    ],
  },
  {
    is: 'paths in other readings: repo_patterns of a rule that allows',
    at: github,
    match: { repo_patterns: ['acme/*'], verbs: ['READ', 'WRITE'] },
    action: 'ALLOW',
    holds: [],
    passes: [],
    stops: [
      ['another one behind encoded dots', 'POST /repos/acme/..%2f..%2frepos%2fother/app/issues', issue],
      ['another one behind encoded dots, twice', 'POST /repos/acme/..%252fother/app/issues', issue],
      ['encoded dots in what follows', 'POST /repos/acme/app/..%2f..%2fother%2fapp/issues', issue],
    ],
  },
  {
    is: 'paths in other readings: operations by name',
    at: github,
    match: { tool_name: 'github', operations: ['merge_pr'] },
    holds: [],
    passes: [],
    stops: [
      ['an encoded slash', 'PUT /repos/acme/app/pulls%2F7%2Fmerge', json({})],
      ['parameters', 'PUT /repos/acme/app/pulls/7/merge;x=1', json({})],
      ['GraphQL with parameters', 'POST /graphql;x', json({ query: merge })],
    ],
  },
  {
    is: 'paths in other readings: other tools',
    match: {
      tool_names: ['outlook', 'gcalendar', 'slack'],
      verbs: ['WRITE', 'ADMIN'],
      operations: ['send_email', 'create_event', 'category:messages'],
    },
    holds: [],
    passes: [],
    stops: [
      ['Graph, an encoded slash', `POST ${graph}/me%2FsendMail`, json(to('eve@evil.example'))],
      ['Graph, parameters', `POST ${graph}/me/sendMail;x=1`, json(to('eve@evil.example'))],
      [
        'Calendar, an encoded slash',
        'POST https://www.googleapis.com/calendar/v3/calendars%2Fprimary%2Fevents',
        json({}),
      ],
      ['Slack, parameters', `POST ${slack}/chat.postMessage;x=1`, json({ channel: 'general' })],
      [
        'a Slack webhook, encoded slashes',
        'POST https://hooks.slack.com/services%2FT0%2FB1%2Fabc',
        json({ text: 'hi' }),
      ],
    ],
  },
  {
    is: 'of several places of a field all count',
    at: slack,
    match: { tool_name: 'slack', channel_patterns: ['C0SECRET01'] },
    holds: [
      [
        'a bookmark',
        'POST /bookmarks.add',
        json({ channel: 'random', channel_id: 'C0SECRET01', type: 'link' }),
      ],
      ['a file', 'POST /files.upload', form('channel=random&channels=C0SECRET01&content=x')],
      [
        'an upload that is completed',
        'POST /files.completeUploadExternal',
        json({ channel: 'random', channel_id: 'C0SECRET01', files: [] }),
      ],
    ],
    passes: [],
  },
  {
    is: 'of several places of a field all count, for a rule that allows',
    at: slack,
    match: { tool_name: 'slack', channel_patterns: ['bots'] },
    action: 'ALLOW',
    holds: [],
    passes: [
      [
        'a bookmark',
        'POST /bookmarks.add',
        json({ channel: 'bots', channel_id: 'C0SECRET01', type: 'link' }),
      ],
    ],
  },
  {
    is: 'aws_tags',
    match: { tool_name: 'aws', aws_tags: { stage: 'production' } },
    holds: [
      ['in the query of a GET', `GET https://ec2.eu-central-1.amazonaws.com/?${tag}`],
      ['in the query of a POST', `POST https://ec2.eu-central-1.amazonaws.com/?${tag}`],
      ['for one of two new resources', ec2, form(twoResources)],
      ['a field twice', ec2, form(`${tag}&Tag.1.Value=test`)],
      [
        'a tag twice',
        secrets,
        target('secretsmanager.CreateSecret', {
          Name: 'x',
          Tags: [
            { Key: 'stage', Value: 'production' },
            { Key: 'stage', Value: 'test' },
          ],
        }),
      ],
      [
        'tags twice in JSON',
        secrets,
        withHeader(
          'x-amz-target',
          'secretsmanager.CreateSecret',
          typed('application/x-amz-json-1.1', '{"Tags":[],"Tags":[{"Key":"stage","Value":"production"}]}'),
        ),
      ],
      [
        'a hundred others before it',
        ec2,
        form(
          `Action=RunInstances&${hundredTags}&TagSpecification.4.Tag.1.Key=stage&TagSpecification.4.Tag.1.Value=production`,
        ),
      ],
      [
        'a header twice',
        'PUT https://bucket.s3.eu-central-1.amazonaws.com/key',
        withHeader('x-amz-tagging', ['stage=production', 'stage=test'], { body: 'x' }),
      ],
      [
        'in the XML of S3',
        'PUT https://bucket.s3.eu-central-1.amazonaws.com/key?tagging',
        typed(
          'application/xml',
          '<Tagging><TagSet><Tag><Key>stage</Key><Value>production</Value></Tag></TagSet></Tagging>',
        ),
      ],
    ],
    passes: [],
  },
  {
    is: 'aws_tags of a rule that allows',
    match: { tool_name: 'aws', aws_tags: { stage: 'test' } },
    action: 'ALLOW',
    holds: [],
    passes: [
      ['one of two new resources', ec2, form(twoResources)],
      ['a field twice', ec2, form(`${tag}&Tag.1.Value=test`)],
    ],
  },
  {
    is: 'hosts and domains of the organisation',
    match: { tool_names: ['github', 'gcalendar', 'gdrive'], verbs: ['WRITE', 'ADMIN'] },
    condition: { is_external_principal: true },
    action: 'REQUIRE_APPROVAL',
    holds: [],
    passes: [
      [
        'a webhook to an own host',
        `POST ${github}/repos/acme/app/hooks`,
        json({ config: { url: 'https://ci.acme.test/x' } }),
      ],
      [
        'a calendar shared with the own domain',
        'POST https://www.googleapis.com/calendar/v3/calendars/primary/acl',
        json({ role: 'reader', scope: { type: 'domain', value: 'acme.test' } }),
      ],
      [
        'a file shared with the own domain',
        'POST https://www.googleapis.com/drive/v3/files/f/permissions',
        json({ type: 'domain', role: 'reader', domain: 'acme.test' }),
      ],
    ],
  },
  {
    is: 'comments and white space in addresses: whom a mail goes to',
    match: { tool_name: 'gmail', principal_patterns: ['evil.example'] },
    holds: [
      ['a comment behind the address', send, mail('To: eve@evil.example (Eve)')],
      ['a comment in the address', send, mail('To: eve@(hello)evil.example')],
      ['white space around the @', send, mail('To: eve @ evil.example')],
      ['a comment with an address in brackets', send, mail('To: eve@evil.example (<ann@acme.test>)')],
    ],
    passes: [],
  },
  {
    is: 'comments and white space in addresses: strangers',
    match: { tool_name: 'gmail' },
    condition: { is_external_principal: true },
    holds: [
      ['a comment with an address in brackets', send, mail('To: eve@evil.example (<ann@acme.test>)')],
      ['brackets and a comment with brackets', send, mail('To: Eve <eve@evil.example> (<ann@acme.test>)')],
      ['two addresses in brackets', send, mail('To: <eve@evil.example> <ann@acme.test>')],
      ['a comment that is never closed', send, mail('To: eve@evil.example (x@acme.test')],
    ],
    passes: [
      ['a colleague with a comment', send, mail('To: ann@acme.test (Ann)')],
      [
        'a colleague with the address of a stranger as a comment',
        send,
        mail('To: ann@acme.test (eve@evil.example)'),
      ],
    ],
  },
  {
    is: 'accounts of AWS',
    match: { tool_name: 'aws', account_patterns: [foreign] },
    holds: [
      [
        'a table in a transaction',
        dynamodb,
        target('DynamoDB_20120810.TransactWriteItems', {
          TransactItems: [
            { Put: { TableName: `arn:aws:dynamodb:eu-central-1:${foreign}:table/t`, Item: {} } },
          ],
        }),
      ],
      [
        'tables that are keys',
        dynamodb,
        target('DynamoDB_20120810.BatchWriteItem', {
          RequestItems: { [`arn:aws:dynamodb:eu-central-1:${foreign}:table/t`]: [] },
        }),
      ],
    ],
    passes: [],
  },
  {
    is: 'accounts of AWS, of a rule that allows',
    match: { tool_name: 'aws', account_patterns: [own] },
    action: 'ALLOW',
    holds: [],
    passes: [
      [
        'an own table for show beside keys that are not own',
        dynamodb,
        target('DynamoDB_20120810.BatchWriteItem', {
          TableName: `arn:aws:dynamodb:eu-central-1:${own}:table/t`,
          RequestItems: { [`arn:aws:dynamodb:eu-central-1:${foreign}:table/t`]: [] },
        }),
      ],
    ],
  },
  {
    is: 'principals of AWS',
    match: { tool_name: 'aws' },
    condition: { is_external_principal: true },
    holds: [
      [
        'a trust policy in the query of a GET',
        `GET https://iam.amazonaws.com/?Action=UpdateAssumeRolePolicy&RoleName=x&PolicyDocument=${enc(trust('*'))}`,
      ],
      [
        'a trust policy in the query of a POST',
        `POST https://iam.amazonaws.com/?Action=UpdateAssumeRolePolicy&RoleName=x&PolicyDocument=${enc(trust('*'))}`,
      ],
      [
        'a trust policy with a field twice',
        iam,
        form(
          `Action=UpdateAssumeRolePolicy&RoleName=x&PolicyDocument=${enc(`{"Statement":[{"Effect":"Allow","Principal":{"AWS":"${foreign}"},"Principal":{"AWS":"${own}"}}]}`)}`,
        ),
      ],
      [
        'a snapshot in the query of a GET',
        `GET https://ec2.eu-central-1.amazonaws.com/?Action=ModifySnapshotAttribute&SnapshotId=s&UserId.1=${foreign}`,
      ],
      [
        'a canned grant of a bucket',
        `PUT ${bucket}/?acl`,
        withHeader('x-amz-acl', 'public-read', { body: '' }),
      ],
      [
        'a canned grant of an object',
        `PUT ${bucket}/key`,
        withHeader('x-amz-acl', 'public-read', { body: 'x' }),
      ],
      [
        'a raw mail',
        'POST https://email.eu-central-1.amazonaws.com/',
        form(
          `Action=SendRawEmail&RawMessage.Data=${enc(Buffer.from('To: eve@evil.example\r\n\r\nx').toString('base64'))}`,
        ),
      ],
      [
        'a raw mail by JSON',
        'POST https://email.eu-central-1.amazonaws.com/v2/email/outbound-emails',
        json({ Content: { Raw: { Data: Buffer.from('To: eve@evil.example\r\n\r\nx').toString('base64') } } }),
      ],
    ],
    passes: [],
  },
  {
    is: 'forms: semicolons',
    match: { tool_names: ['slack', 'aws'], operations: ['attach_user_policy', 'post_message'] },
    holds: [['AWS', iam, form('Action=GetUser;Action=AttachUserPolicy')]],
    passes: [],
  },
  {
    is: 'forms: semicolons and declared types, a channel',
    at: slack,
    match: { tool_name: 'slack', channel_patterns: ['announce'] },
    holds: [
      ['a semicolon', 'POST /chat.postMessage', form('text=hi;channel=announce')],
      [
        'a form that is declared JSON',
        'POST /chat.postMessage',
        typed('application/json', 'channel=announce&text=hi'),
      ],
    ],
    passes: [],
  },
  {
    is: 'forms: a declared type, an action',
    match: { tool_name: 'aws', operations: ['attach_user_policy'] },
    holds: [['a form that is declared JSON', iam, typed('application/json', 'Action=AttachUserPolicy')]],
    passes: [],
  },
];
