import { form, type Group, httpPart, json, multipart, rawJson, typed, withHeader } from './group.ts';

const eve = 'eve@stranger.example';
const ann = 'ann@acme.test';
const external = { is_external_principal: true };
const guests = { attendees: [{ emailAddress: { address: eve } }] };
const calendarBatch = 'POST https://www.googleapis.com/batch/calendar/v3';
const graphBatch = 'POST https://graph.microsoft.com/v1.0/$batch';
const inBatch = (request: object) => json({ requests: [{ id: '1', ...request }] });
const trust = `{"Statement":[{"Effect":"Allow","Principal":{"AWS":"arn:aws:iam::999999999999:root"}}]}`;
const many = (count: number) => Array.from({ length: count }, (_, i) => `a${i}: __typename`).join(' ');
const github = 'POST https://api.github.com/graphql';
const monday = 'POST https://api.monday.com/v2';
const linear = 'POST https://api.linear.app/graphql';

/* Disguises in which calls have tried to slip past rules, by what one vendor takes and others do not. */

export const vendorDisguises: readonly Group[] = [
  {
    is: 'graph batch, names in any case',
    match: { verbs: ['ADMIN'] },
    passes: [],
    holds: [
      ['Method', graphBatch, inBatch({ Method: 'DELETE', url: '/users/x' })],
      ['no method', graphBatch, inBatch({ url: '/users/x' })],
      ['method and METHOD', graphBatch, inBatch({ method: 'GET', METHOD: 'DELETE', url: '/users/x' })],
      ['url and Url', graphBatch, inBatch({ method: 'DELETE', url: '/me/messages/1', Url: '/users/x' })],
      [
        'requests and Requests',
        graphBatch,
        json({
          requests: [{ id: '1', method: 'GET', url: '/me' }],
          Requests: [{ id: '1', method: 'DELETE', url: '/users/x' }],
        }),
      ],
      ['5 trailing slash', `${graphBatch}/`, inBatch({ method: 'DELETE', url: '/users/x' })],
    ],
  },
  {
    is: 'graph batch, Body',
    match: {},
    condition: external,
    passes: [],
    holds: [
      [
        'Body',
        graphBatch,
        inBatch({
          method: 'POST',
          url: '/me/events',
          headers: { 'content-type': 'application/json' },
          Body: guests,
        }),
      ],
    ],
  },
  {
    is: 'graphql that cannot be read',
    match: { verbs: ['ADMIN'] },
    passes: [],
    holds: [
      ['101 aliases', github, json({ query: `mutation { ${many(100)} updateRepository(input:{}) { x } }` })],
      [
        '64 KB',
        github,
        json({ query: `# ${'x'.repeat(66_000)}\nmutation { updateRepository(input:{}) { x } }` }),
      ],
      [
        '4096 tokens',
        github,
        json({ query: `mutation { updateRepository(input:{x:[${'1 '.repeat(4100)}]}) { x } }` }),
      ],
      [
        'application/graphql with a query in the URL',
        `${github}?query=%7Bviewer%7Blogin%7D%7D`,
        typed('application/graphql', 'mutation { updateRepository(input:{}) { x } }'),
      ],
    ],
  },
  {
    is: 'graphql account',
    match: { account_patterns: ['666'] },
    passes: [],
    holds: [
      [
        'unreadable',
        monday,
        json({ query: `mutation { ${many(101)} archive_board(board_id: 666) { id } }` }),
      ],
      ['persisted', monday, json({ extensions: { persistedQuery: { version: 1, sha256Hash: 'aa' } } })],
      [
        'decoy beside an item',
        monday,
        json({ query: 'mutation { a: create_item(board_id: 1) { id } b: archive_item(item_id: 5) { id } }' }),
      ],
      [
        'decoy in the first place',
        monday,
        json({
          query:
            'mutation { a: create_item(board_id: 1) { id } b: create_form(input: { board_id: 666 }) { id } }',
        }),
      ],
    ],
  },
  {
    is: 'decoy in slack',
    match: { channel_patterns: ['secret'] },
    passes: [],
    holds: [
      [
        'channel beside channel_id',
        'POST https://slack.com/api/files.completeUploadExternal',
        json({ channel: 'x', channel_id: 'secret', files: [] }),
      ],
      [
        'channel beside channels',
        'POST https://slack.com/api/files.upload?channel=x',
        form('channels=secret&content=x'),
      ],
    ],
  },
  {
    is: 'several repositories',
    match: { repo_patterns: ['acme/secret'] },
    passes: [],
    holds: [
      [
        'first of two',
        github,
        json({
          query:
            '{ a: repository(owner:"acme", name:"secret") {id} b: repository(owner:"own", name:"x") {id} }',
        }),
      ],
    ],
  },
  {
    is: 'graphql principals',
    match: {},
    condition: external,
    passes: [],
    holds: [
      [
        'a default',
        linear,
        json({
          query: `mutation($e: String! = "${eve}") { organizationInviteCreate(input: { email: $e }) { success } }`,
        }),
      ],
      [
        'a default object',
        linear,
        json({
          query: `mutation($i: X! = { email: "${eve}" }) { organizationInviteCreate(input: $i) { success } }`,
        }),
      ],
      [
        'multipart',
        linear,
        multipart('form-data', [
          `Content-Disposition: form-data; name="operations"\r\n\r\n{"query":"mutation { organizationInviteCreate(input: { email: \\"${eve}\\" }) { success } }"}`,
        ]),
      ],
      [
        'repeated key in variables as text',
        linear,
        json({
          query: 'mutation($e: String!) { organizationInviteCreate(input: { email: $e }) { success } }',
          variables: `{"e":"${eve}","e":"${ann}"}`,
        }),
      ],
    ],
  },
  {
    is: 'aws principals',
    match: {},
    condition: external,
    passes: [],
    holds: [
      [
        'CreateRole',
        `GET https://iam.amazonaws.com/?Action=CreateRole&AssumeRolePolicyDocument=${encodeURIComponent(trust)}`,
      ],
      [
        'SendEmail',
        `GET https://email.us-east-1.amazonaws.com/?Action=SendEmail&Destination.ToAddresses.member.1=${eve}`,
      ],
      [
        'Subscribe',
        'GET https://sns.us-east-1.amazonaws.com/?Action=Subscribe&Endpoint=https%3A%2F%2Fstranger.example%2F',
      ],
      [
        'repeated key in the document',
        'POST https://iam.amazonaws.com/',
        form(
          `Action=CreateRole&AssumeRolePolicyDocument=${encodeURIComponent(trust.replace('"Principal"', '"Principal":{"AWS":"arn:aws:iam::999999999999:root"},"Principal"').replace(/999999999999(?=:root"\}\}\])/, '111122223333'))}`,
        ),
      ],
      [
        'SES v2 raw',
        'POST https://email.us-east-1.amazonaws.com/v2/email/outbound-emails',
        json({ Content: { Raw: { Data: Buffer.from(`To: ${eve}\r\n\r\nx`).toString('base64') } } }),
      ],
      [
        'SendRawEmail',
        'POST https://email.us-east-1.amazonaws.com/',
        form(
          `Action=SendRawEmail&RawMessage.Data=${encodeURIComponent(Buffer.from(`To: ${eve}\r\n\r\nx`).toString('base64'))}`,
        ),
      ],
      [
        'grant on put',
        'PUT https://b.s3.us-east-1.amazonaws.com/k',
        withHeader('x-amz-grant-read', 'id=stranger', typed('text/plain', 'x')),
      ],
      [
        'public acl on put',
        'PUT https://b.s3.us-east-1.amazonaws.com/k',
        withHeader('x-amz-acl', 'public-read', typed('text/plain', 'x')),
      ],
      [
        'public acl in the query',
        'PUT https://b.s3.us-east-1.amazonaws.com/k?x-amz-acl=public-read',
        typed('text/plain', 'x'),
      ],
      [
        'statement 10,001',
        'POST https://iam.amazonaws.com/',
        form(
          `Action=CreateRole&AssumeRolePolicyDocument=${encodeURIComponent(trust.replace('[', `[${'{},'.repeat(10_000)}`))}`,
        ),
      ],
      [
        'acl as XML',
        'PUT https://b.s3.us-east-1.amazonaws.com/?acl',
        typed('application/xml', '<AccessControlPolicy/>'),
      ],
    ],
  },
  {
    is: 'aws tags',
    match: { aws_tags: { env: 'prod' } },
    passes: [],
    holds: [
      [
        'by GET',
        'GET https://ec2.us-east-1.amazonaws.com/?Action=RunInstances&TagSpecification.1.Tag.1.Key=env&TagSpecification.1.Tag.1.Value=prod',
      ],
      [
        'repeated value',
        'POST https://ec2.us-east-1.amazonaws.com/',
        form(
          'Action=RunInstances&TagSpecification.1.Tag.1.Key=env&TagSpecification.1.Tag.1.Value=prod&TagSpecification.1.Tag.1.Value=dev',
        ),
      ],
      [
        'two of the name',
        'POST https://ec2.us-east-1.amazonaws.com/',
        form(
          'Action=RunInstances&TagSpecification.1.Tag.1.Key=env&TagSpecification.1.Tag.1.Value=prod&TagSpecification.2.Tag.1.Key=env&TagSpecification.2.Tag.1.Value=dev',
        ),
      ],
      [
        'unclear',
        'POST https://dynamodb.us-east-1.amazonaws.com/',
        withHeader(
          'x-amz-target',
          'DynamoDB_20120810.CreateTable',
          rawJson('{"Tags":[],"Tags":[{"Key":"env","Value":"prod"}]}'),
        ),
      ],
    ],
  },
  {
    is: 'google batches',
    match: { verbs: ['ADMIN'] },
    passes: [],
    holds: [
      [
        'storage',
        'POST https://storage.googleapis.com/batch/storage/v1',
        multipart('mixed', [httpPart('PUT /storage/v1/b/x/iam HTTP/1.1', '{}')]),
      ],
      [
        'gmail',
        'POST https://gmail.googleapis.com/batch/gmail/v1',
        multipart('mixed', [httpPart('POST /gmail/v1/users/me/settings/delegates HTTP/1.1', '{}')]),
      ],
      [
        'compute',
        'POST https://compute.googleapis.com/batch/compute/v1',
        multipart('mixed', [
          httpPart('POST /compute/v1/projects/p/zones/z/instances/i/setIamPolicy HTTP/1.1', '{}'),
        ]),
      ],
    ],
  },
  {
    is: 'outer query',
    match: {},
    condition: external,
    passes: [],
    holds: [
      [
        'destination',
        `${calendarBatch}?destination=${eve}`,
        multipart('mixed', [
          'Content-Type: application/http\r\n\r\nPOST /calendar/v3/calendars/primary/events/1/move HTTP/1.1\r\nX: y\r\n\r\n',
        ]),
      ],
    ],
  },
  {
    is: 'asana batch',
    match: {},
    condition: external,
    passes: [],
    holds: [
      ['form', 'POST https://app.asana.com/api/1.0/workspaces/1/addUser', form(`user=${eve}`)],
      [
        'addUser',
        'POST https://app.asana.com/api/1.0/batch',
        json({
          data: {
            actions: [{ method: 'post', relative_path: '/workspaces/1/addUser', data: { user: eve } }],
          },
        }),
      ],
    ],
  },
  {
    is: 'odata',
    match: { verbs: ['ADMIN'] },
    passes: [],
    holds: [
      [
        'a key in parentheses',
        "POST https://graph.microsoft.com/v1.0/applications('id')/addPassword",
        json({}),
      ],
      ['delete user', "DELETE https://graph.microsoft.com/v1.0/users('bob')"],
      [
        'a qualified action',
        'POST https://graph.microsoft.com/v1.0/applications/id/microsoft.graph.addPassword',
        json({}),
      ],
    ],
  },
  {
    is: 'odata principals',
    match: {},
    condition: external,
    passes: [],
    holds: [
      [
        'forward',
        "POST https://graph.microsoft.com/v1.0/me/messages('AA')/forward",
        json({ toRecipients: [{ emailAddress: { address: eve } }] }),
      ],
      [
        'drive',
        "POST https://graph.microsoft.com/v1.0/drives('d')/items('i')/invite",
        json({ recipients: [{ email: eve }] }),
      ],
      [
        'Attendees',
        'POST https://graph.microsoft.com/v1.0/me/events',
        json({ Attendees: [{ EmailAddress: { Address: eve } }] }),
      ],
      [
        'BccRecipients',
        'POST https://graph.microsoft.com/v1.0/me/sendMail',
        json({
          message: {
            toRecipients: [{ emailAddress: { address: ann } }],
            BccRecipients: [{ emailAddress: { address: eve } }],
          },
        }),
      ],
    ],
  },
  {
    is: 'case',
    match: { operations: ['post_message', 'create_role_assignment'] },
    passes: [],
    holds: [
      [
        'telegram',
        'POST https://api.telegram.org/bot123:abc/sendmessage',
        json({ chat_id: '@x', text: 'hi' }),
      ],
      [
        'azure',
        'PUT https://management.azure.com/subscriptions/s/providers/microsoft.authorization/roleassignments/r',
        json({}),
      ],
    ],
  },
  {
    is: 'case salesforce',
    match: { verbs: ['ADMIN'] },
    passes: [],
    holds: [
      [
        'type',
        'POST https://acme.my.salesforce.com/services/data/v60.0/composite/sobjects',
        json({ records: [{ attributes: { type: 'user' }, Email: eve }] }),
      ],
      [
        'no method',
        'POST https://acme.my.salesforce.com/services/data/v60.0/composite',
        json({
          compositeRequest: [
            { Method: 'DELETE', url: '/services/data/v60.0/sobjects/User/005x', referenceId: 'a' },
          ],
        }),
      ],
      ['user', 'POST https://acme.my.salesforce.com/services/data/v60.0/sobjects/user', json({ Email: eve })],
    ],
  },
  {
    is: 'aws hosts',
    match: { tool_names: ['aws'] },
    passes: [],
    holds: [
      ['ec2', 'POST https://ec2.amazonaws.com/', form('Action=RunInstances')],
      ['sqs', 'POST https://us-east-1.queue.amazonaws.com/', form('Action=SendMessage')],
      ['emr', 'POST https://us-east-1.elasticmapreduce.amazonaws.com/', form('Action=RunJobFlow')],
      ['rds', 'POST https://rds.amazonaws.com/', form('Action=DeleteDBInstance')],
    ],
  },
  {
    is: 'a share that names nobody',
    match: {},
    condition: external,
    passes: [],
    holds: [
      ['nobody', 'POST https://www.googleapis.com/drive/v3/files/f/permissions', json({ role: 'reader' })],
      [
        'ANYONE',
        'POST https://www.googleapis.com/drive/v3/files/f/permissions',
        json({ type: 'ANYONE', role: 'reader' }),
      ],
    ],
  },
];
