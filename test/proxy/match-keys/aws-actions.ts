import { bucket, dynamodb, ec2, foreign, iam, own, secrets, sts, target, trust } from './aws-calls.ts';
import { among, form, type Group, json, rawJson, typed, withHeader } from './group.ts';

const enc = encodeURIComponent;

export const awsActions: readonly Group[] = [
  {
    is: 'operations by name of AWS',
    match: {
      tool_name: 'aws',
      operations: ['attach_user_policy', 'put_item', 'put_bucket_policy', 'delete_objects'],
    },
    holds: [
      ['by the query protocol', iam, form('Action=AttachUserPolicy&UserName=x')],
      ['by a GET', 'GET https://iam.amazonaws.com/?Action=AttachUserPolicy&UserName=x'],
      ['by JSON', dynamodb, target('DynamoDB_20120810.PutItem', { TableName: 't', Item: {} })],
      ['by a flag of S3', `PUT ${bucket}/?policy`, { body: '{}' }],
      ['by a flag of S3 with a value', `PUT ${bucket}/?policy=`, { body: '{}' }],
      [
        'by a flag among others',
        'PUT https://s3.eu-central-1.amazonaws.com/bucket?x=1&policy&y',
        { body: '{}' },
      ],
      ['by an escaped flag', `PUT ${bucket}/?p%6flicy`, { body: '{}' }],
      ['many objects at once', `POST ${bucket}/?delete`, typed('application/xml', '<Delete/>')],
      ['an action twice, last', iam, form('Action=GetUser&Action=AttachUserPolicy')],
      ['an action twice, first', iam, form('Action=AttachUserPolicy&Action=GetUser')],
      [
        'in the query behind another in the form',
        'POST https://iam.amazonaws.com/?Action=AttachUserPolicy',
        form('Action=GetUser'),
      ],
      [
        'in the form behind another in the query',
        'POST https://iam.amazonaws.com/?Action=GetUser',
        form('Action=AttachUserPolicy'),
      ],
      [
        'in a header beside another in the form',
        'POST https://dynamodb.eu-central-1.amazonaws.com/?Action=ListTables',
        target('DynamoDB_20120810.PutItem', {}),
      ],
      [
        'two headers',
        dynamodb,
        withHeader(
          'x-amz-target',
          ['DynamoDB_20120810.GetItem', 'DynamoDB_20120810.PutItem'],
          typed('application/x-amz-json-1.0', '{}'),
        ),
      ],
      ['an escaped action', iam, form('Act%69on=Attach%55serPolicy')],
      ['a form that is declared nothing', iam, { body: 'Action=AttachUserPolicy&UserName=x' }],
    ],
    passes: [
      ['another action', iam, form('Action=AttachRolePolicy&RoleName=AttachUserPolicy')],
      ['reading', dynamodb, target('DynamoDB_20120810.GetItem', { TableName: 'PutItem' })],
      ['an object of that name', `PUT ${bucket}/policy`, { body: 'x' }],
      ['reading the policy', `GET ${bucket}/?policy`],
    ],
    stops: [
      ['JSON that is declared a form', iam, form('{"Action":"AttachUserPolicy"}')],
      ['a path', 'POST https://iam.amazonaws.com//', form('Action=AttachUserPolicy')],
      [
        'an action in multipart',
        iam,
        typed(
          'multipart/form-data; boundary=b',
          '--b\r\nContent-Disposition: form-data; name="Action"\r\n\r\nAttachUserPolicy\r\n--b--\r\n',
        ),
      ],
      ['behind a form of a megabyte', iam, form(`x=${'a'.repeat(240_000)}&Action=AttachUserPolicy`)],
    ],
  },
  {
    is: 'category: of AWS',
    match: { tool_name: 'aws', operations: ['category:iam', 'category:secretsmanager'] },
    holds: [
      ['IAM', iam, form('Action=ListUsers')],
      ['an action of it that the table lacks', iam, form('Action=FrobnicateUser')],
      ['a secret', secrets, target('secretsmanager.GetSecretValue', { SecretId: 'x' })],
    ],
    passes: [
      ['another service', sts, form('Action=GetCallerIdentity')],
      ['a bucket of that name', 'GET https://iam.s3.amazonaws.com/x'],
    ],
  },
  {
    is: 'is_external_principal of AWS accounts',
    match: { tool_name: 'aws' },
    condition: { is_external_principal: true },
    holds: [
      [
        'a trust policy',
        iam,
        form(
          `Action=CreateRole&RoleName=x&AssumeRolePolicyDocument=${enc(trust({ AWS: `arn:aws:iam::${foreign}:root` }))}`,
        ),
      ],
      [
        'a trust policy of everybody',
        iam,
        form(`Action=UpdateAssumeRolePolicy&RoleName=x&PolicyDocument=${enc(trust('*'))}`),
      ],
      [
        'a stranger in a list',
        iam,
        form(
          `Action=UpdateAssumeRolePolicy&RoleName=x&PolicyDocument=${enc(trust({ AWS: among(20, `arn:aws:iam::${own}:root`, foreign) }))}`,
        ),
      ],
      [
        'all but one',
        iam,
        form(
          `Action=UpdateAssumeRolePolicy&RoleName=x&PolicyDocument=${enc(JSON.stringify({ Statement: [{ Effect: 'Allow', NotPrincipal: { AWS: own }, Action: '*' }] }))}`,
        ),
      ],
      [
        'a bucket policy',
        `PUT ${bucket}/?policy`,
        json({ Statement: { Effect: 'Allow', Principal: '*', Action: 's3:GetObject' } }),
      ],
      ['a bucket policy that is declared nothing', `PUT ${bucket}/?policy`, { body: trust('*') }],
      [
        'a bucket policy with a field twice',
        `PUT ${bucket}/?policy`,
        rawJson(
          `{"Statement":[{"Effect":"Allow","Principal":{"AWS":"${foreign}"},"Principal":{"AWS":"${own}"}}]}`,
        ),
      ],
      [
        'a function',
        'POST https://lambda.eu-central-1.amazonaws.com/2015-03-31/functions/f/policy',
        json({ Principal: foreign, Action: 'lambda:InvokeFunction' }),
      ],
      [
        'a provider of identities',
        iam,
        form(
          `Action=CreateRole&RoleName=x&AssumeRolePolicyDocument=${enc(trust({ Federated: `arn:aws:iam::${own}:oidc-provider/token.example` }))}`,
        ),
      ],
      [
        'a mail',
        'POST https://email.eu-central-1.amazonaws.com/v2/email/outbound-emails',
        json({
          Destination: { ToAddresses: ['ann@acme.test'], BccAddresses: ['eve@stranger.example'] },
          Content: {},
        }),
      ],
      ['a snapshot', ec2, form(`Action=ModifySnapshotAttribute&SnapshotId=s&UserId.1=${foreign}`)],
    ],
    passes: [
      [
        'the own account',
        iam,
        form(
          `Action=CreateRole&RoleName=x&AssumeRolePolicyDocument=${enc(trust({ AWS: `arn:aws:iam::${own}:role/ci` }))}`,
        ),
      ],
      [
        'a service of AWS',
        iam,
        form(
          `Action=CreateRole&RoleName=x&AssumeRolePolicyDocument=${enc(trust({ Service: 'lambda.amazonaws.com' }))}`,
        ),
      ],
      [
        'a denial of strangers',
        `PUT ${bucket}/?policy`,
        json({ Statement: { Effect: 'Deny', Principal: '*', Action: 's3:*' } }),
      ],
      [
        'a snapshot within the account',
        ec2,
        form(`Action=ModifySnapshotAttribute&SnapshotId=s&UserId.1=${own}`),
      ],
      [
        'a mail to a colleague',
        'POST https://email.eu-central-1.amazonaws.com/v2/email/outbound-emails',
        json({ Destination: { ToAddresses: ['ann@acme.test'] }, Content: {} }),
      ],
    ],
    stops: [
      [
        'a grant by header',
        `PUT ${bucket}/?acl`,
        withHeader('x-amz-grant-read', `id="${'a'.repeat(64)}"`, { body: '' }),
      ],
    ],
  },
];
