import { dynamodb, ec2, foreign, iam, own, role, scope, secrets, sns, sts, target } from './aws-calls.ts';
import { form, type Group, json, typed, withHeader } from './group.ts';

const enc = encodeURIComponent;

export const awsResources: readonly Group[] = [
  {
    is: 'region_patterns',
    match: { tool_name: 'aws', region_patterns: ['us-*'] },
    holds: [
      ['of the host', 'POST https://ec2.us-east-1.amazonaws.com/', form('Action=RunInstances')],
      ['of an S3 host by path', 'GET https://s3.us-west-2.amazonaws.com/bucket/key'],
      ['of an S3 host by bucket', 'GET https://my.bucket.s3.us-west-2.amazonaws.com/key'],
      ['of an old S3 host', 'PUT https://bucket.s3-us-west-2.amazonaws.com/key', { body: 'x' }],
      [
        'of the signature where the host is global',
        iam,
        withHeader('authorization', scope('us-east-1', 'iam'), form('Action=ListUsers')),
      ],
      [
        'of a presigned URL',
        `GET https://bucket.s3.amazonaws.com/key?X-Amz-Credential=EXAMPLE%2F20261122%2Fus-east-1%2Fs3%2Faws4_request`,
      ],
      ['a host in capitals', 'POST https://EC2.US-East-1.AmazonAWS.com/', form('Action=RunInstances')],
      [
        'a host with its final dot',
        'POST https://ec2.us-east-1.amazonaws.com./',
        form('Action=RunInstances'),
      ],
      [
        'signed for another region',
        'POST https://ec2.us-east-1.amazonaws.com/',
        withHeader('authorization', scope('eu-central-1', 'ec2'), form('Action=RunInstances')),
      ],
      [
        'by JSON',
        'POST https://dynamodb.us-east-1.amazonaws.com/',
        target('DynamoDB_20120810.PutItem', { TableName: 't', Item: {} }),
      ],
      ['a dualstack host', 'POST https://lambda.us-east-1.api.aws/', json({})],
    ],
    passes: [
      ['another region', ec2, form('Action=RunInstances')],
      ['the region in a body', ec2, form('Action=CopyImage&SourceRegion=us-east-1')],
      [
        'a government region, of which the pattern says nothing',
        'POST https://ec2.eu-gov-west-1.amazonaws.com/',
        form('Action=RunInstances'),
      ],
      ['what a customer runs there', 'GET https://abc.execute-api.us-east-1.amazonaws.com/x'],
    ],
  },
  {
    is: 'account_patterns',
    match: { tool_name: 'aws', account_patterns: [foreign] },
    holds: [
      ['a role', sts, form(`Action=AssumeRole&RoleArn=${enc(role(foreign))}&RoleSessionName=x`)],
      [
        'a policy',
        iam,
        form(`Action=AttachRolePolicy&RoleName=x&PolicyArn=${enc(`arn:aws:iam::${foreign}:policy/p`)}`),
      ],
      [
        'a table',
        dynamodb,
        target('DynamoDB_20120810.PutItem', {
          TableName: `arn:aws:dynamodb:eu-central-1:${foreign}:table/t`,
          Item: {},
        }),
      ],
      [
        'a function in a path',
        `POST https://lambda.eu-central-1.amazonaws.com/2015-03-31/functions/${enc(`arn:aws:lambda:eu-central-1:${foreign}:function:f`)}/invocations`,
        json({}),
      ],
      [
        'a queue',
        `POST https://sqs.eu-central-1.amazonaws.com/${foreign}/jobs`,
        form('Action=SendMessage&MessageBody=x'),
      ],
      ['a topic', sns, form(`Action=Publish&TopicArn=arn:aws:sns:eu-central-1:${foreign}:t&Message=x`)],
      [
        'in the query of a GET',
        `GET https://sts.amazonaws.com/?Action=AssumeRole&RoleSessionName=x&RoleArn=${enc(role(foreign))}`,
      ],
      [
        'beside an own one',
        iam,
        form(
          `Action=AttachRolePolicy&RoleArn=${enc(role(own))}&PolicyArn=${enc(`arn:aws:iam::${foreign}:policy/p`)}`,
        ),
      ],
      [
        'a field twice',
        sts,
        form(`Action=AssumeRole&RoleArn=${enc(role(own))}&RoleArn=${enc(role(foreign))}`),
      ],
      [
        'JSON with a field twice',
        dynamodb,
        withHeader(
          'x-amz-target',
          'DynamoDB_20120810.PutItem',
          typed(
            'application/x-amz-json-1.0',
            `{"TableName":"t","TableName":"arn:aws:dynamodb:eu-central-1:${foreign}:table/t"}`,
          ),
        ),
      ],
      ['a registry', `GET https://${foreign}.dkr.ecr.eu-central-1.amazonaws.com/v2/x/manifests/latest`],
    ],
    passes: [
      ['the own account', sts, form(`Action=AssumeRole&RoleArn=${enc(role(own))}&RoleSessionName=x`)],
      [
        'in a message',
        sns,
        form(
          `Action=Publish&TopicArn=arn:aws:sns:eu-central-1:${own}:t&Message=arn:aws:sns:eu-central-1:${foreign}:t`,
        ),
      ],
      [
        'a policy of AWS',
        iam,
        form(`Action=AttachRolePolicy&RoleName=x&PolicyArn=${enc('arn:aws:iam::aws:policy/ReadOnlyAccess')}`),
      ],
    ],
    stops: [
      [
        'a queue by its URL',
        'POST https://sqs.eu-central-1.amazonaws.com/',
        target('AmazonSQS.SendMessage', {
          QueueUrl: `https://sqs.eu-central-1.amazonaws.com/${foreign}/jobs`,
          MessageBody: 'x',
        }),
      ],
      [
        'a queue by its URL in a form',
        'POST https://sqs.eu-central-1.amazonaws.com/',
        form(
          `Action=SendMessage&QueueUrl=${enc(`https://sqs.eu-central-1.amazonaws.com/${foreign}/jobs`)}&MessageBody=x`,
        ),
      ],
    ],
  },
  {
    is: 'aws_tags',
    match: { tool_name: 'aws', aws_tags: { stage: 'production' } },
    holds: [
      ['of EC2', ec2, form('Action=CreateTags&ResourceId.1=i-1&Tag.1.Key=stage&Tag.1.Value=production')],
      [
        'of a new instance',
        ec2,
        form(
          'Action=RunInstances&TagSpecification.1.ResourceType=instance&TagSpecification.1.Tag.1.Key=stage&TagSpecification.1.Tag.1.Value=production',
        ),
      ],
      [
        'of IAM',
        iam,
        form('Action=CreateUser&UserName=x&Tags.member.1.Key=stage&Tags.member.1.Value=production'),
      ],
      [
        'of a list in JSON',
        secrets,
        target('secretsmanager.CreateSecret', {
          Name: 'x',
          Tags: [
            { Key: 'team', Value: 'pay' },
            { Key: 'stage', Value: 'production' },
          ],
        }),
      ],
      [
        'of an object in JSON',
        'POST https://logs.eu-central-1.amazonaws.com/',
        target('Logs_20140328.CreateLogGroup', { logGroupName: 'x', tags: { stage: 'production' } }),
      ],
      [
        'of an object in S3',
        'PUT https://bucket.s3.eu-central-1.amazonaws.com/key',
        withHeader('x-amz-tagging', 'team=pay&stage=production', { body: 'x' }),
      ],
      ['the value before the name', ec2, form('Tag.7.Value=production&Action=CreateTags&Tag.7.Key=stage')],
      ['an escaped field', ec2, form('Action=CreateTags&T%61g.1.Key=st%61ge&Tag.1.Value=production')],
    ],
    passes: [
      ['another value', ec2, form('Action=CreateTags&ResourceId.1=i-1&Tag.1.Key=stage&Tag.1.Value=test')],
      ['another case of the value', ec2, form('Action=CreateTags&Tag.1.Key=stage&Tag.1.Value=Production')],
      ['another tag of that value', ec2, form('Action=CreateTags&Tag.1.Key=tier&Tag.1.Value=production')],
      [
        'name and value in different tags',
        ec2,
        form('Action=CreateTags&Tag.1.Key=stage&Tag.1.Value=x&Tag.2.Key=y&Tag.2.Value=production'),
      ],
      ['no tags', ec2, form('Action=RunInstances')],
      ['the words in a message', sns, form('Action=Publish&Message=stage%3Dproduction')],
    ],
  },
  {
    is: 'aws_tags, all of them',
    match: { aws_tags: { stage: 'production', team: 'pay' } },
    holds: [
      [
        'both',
        ec2,
        form(
          'Action=CreateTags&Tag.1.Key=team&Tag.1.Value=pay&Tag.2.Key=stage&Tag.2.Value=production&Tag.3.Key=x&Tag.3.Value=y',
        ),
      ],
    ],
    passes: [['one', ec2, form('Action=CreateTags&Tag.1.Key=stage&Tag.1.Value=production')]],
  },
  {
    is: 'aws_tags of a rule that allows',
    match: { tool_name: 'aws', aws_tags: { stage: 'test' } },
    action: 'ALLOW',
    holds: [
      [
        'it',
        ec2,
        form(
          'Action=RunInstances&TagSpecification.1.ResourceType=instance&TagSpecification.1.Tag.1.Key=stage&TagSpecification.1.Tag.1.Value=test',
        ),
      ],
    ],
    passes: [
      [
        'another value',
        ec2,
        form(
          'Action=RunInstances&TagSpecification.1.Tag.1.Key=stage&TagSpecification.1.Tag.1.Value=production',
        ),
      ],
      ['no tags', ec2, form('Action=RunInstances')],
      [
        'tags twice in JSON',
        secrets,
        withHeader(
          'x-amz-target',
          'secretsmanager.CreateSecret',
          typed(
            'application/x-amz-json-1.1',
            '{"Tags":[{"Key":"stage","Value":"production"}],"Tags":[{"Key":"stage","Value":"test"}]}',
          ),
        ),
      ],
    ],
  },
];
