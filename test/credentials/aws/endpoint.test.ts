import t from 'tap';
import { scopeOfHost } from '../../../src/credentials/aws/endpoint.ts';

/** Host, and service and region that its signatures name. */
const told: Record<string, string> = {
  's3.amazonaws.com': 's3 us-east-1',
  'bucket.s3.amazonaws.com': 's3 us-east-1',
  'a.bucket.with.dots.s3.eu-west-1.amazonaws.com': 's3 eu-west-1',
  's3.eu-central-1.amazonaws.com': 's3 eu-central-1',
  's3-eu-west-1.amazonaws.com': 's3 eu-west-1',
  'bucket.s3-us-gov-west-1.amazonaws.com': 's3 us-gov-west-1',
  's3-external-1.amazonaws.com': 's3 us-east-1',
  's3.dualstack.ap-south-1.amazonaws.com': 's3 ap-south-1',
  'bucket.s3.dualstack.ap-south-1.amazonaws.com': 's3 ap-south-1',
  's3-fips.us-gov-east-1.amazonaws.com': 's3 us-gov-east-1',
  'bucket.s3-fips.dualstack.us-east-2.amazonaws.com': 's3 us-east-2',
  'bucket.s3.cn-north-1.amazonaws.com.cn': 's3 cn-north-1',
  's3.me-central-1.api.aws': 's3 me-central-1',
  'point-123456789012.s3-accesspoint.us-west-2.amazonaws.com': 's3 us-west-2',
  '123456789012.s3-control.dualstack.us-west-2.amazonaws.com': 's3 us-west-2',
  'point-123456789012.s3-object-lambda.us-west-2.amazonaws.com': 's3-object-lambda us-west-2',
  'b--usw2-az1--x-s3.s3express-usw2-az1.us-west-2.amazonaws.com': 's3express us-west-2',
  'bucket.vpce-1a2b3c4d-5e6f.s3.us-east-1.vpce.amazonaws.com': 's3 us-east-1',
  'eu-west-1.s3.amazonaws.com': 's3 us-east-1',
  'dynamodb.us-east-1.amazonaws.com': 'dynamodb us-east-1',
  'streams.dynamodb.us-east-1.amazonaws.com': 'dynamodb us-east-1',
  '123456789012.ddb.us-east-1.amazonaws.com': 'dynamodb us-east-1',
  'ec2.il-central-1.amazonaws.com': 'ec2 il-central-1',
  'ec2.us-east-1.api.aws': 'ec2 us-east-1',
  'kms-fips.ca-central-1.amazonaws.com': 'kms ca-central-1',
  'sts.us-gov-west-1.amazonaws.com': 'sts us-gov-west-1',
  'sts.cn-northwest-1.amazonaws.com.cn': 'sts cn-northwest-1',
  'sts.amazonaws.com': 'sts us-east-1',
  'iam.amazonaws.com': 'iam us-east-1',
  'iam.us-gov.amazonaws.com': 'iam us-gov-west-1',
  'iam.cn-north-1.amazonaws.com.cn': 'iam cn-north-1',
  'route53.amazonaws.com': 'route53 us-east-1',
  'route53.amazonaws.com.cn': 'route53 cn-northwest-1',
  'email.eu-west-1.amazonaws.com': 'ses eu-west-1',
  'bedrock-runtime.us-east-1.amazonaws.com': 'bedrock us-east-1',
  'bedrock-runtime-fips.us-east-1.amazonaws.com': 'bedrock us-east-1',
  'api.ecr.us-east-1.amazonaws.com': 'ecr us-east-1',
  'runtime.sagemaker.us-east-1.amazonaws.com': 'sagemaker us-east-1',
  'a1b2c3-ats.iot.us-east-1.amazonaws.com': 'iotdata us-east-1',
  'data-ats.iot.us-east-1.amazonaws.com': 'iotdata us-east-1',
  'a1b2c3.execute-api.eu-west-3.amazonaws.com': 'execute-api eu-west-3',
  'a1b2c3.lambda-url.eu-west-3.on.aws': 'lambda eu-west-3',
  'sqs.us-east-1.amazonaws.com': 'sqs us-east-1',
  'us-east-1.queue.amazonaws.com': 'sqs us-east-1',
  'search-x-1a2b.us-east-1.es.amazonaws.com': 'es us-east-1',
  'a1b2c3.us-east-1.aoss.amazonaws.com': 'aoss us-east-1',
  'dynamodb.us-iso-east-1.c2s.ic.gov': 'dynamodb us-iso-east-1',
  'globalaccelerator.amazonaws.com': 'globalaccelerator us-west-2',
};
for (const [host, scope] of Object.entries(told))
  t.test(`tells service and region of ${host}`, async (t) => {
    const { service, region } = scopeOfHost(host) ?? {};
    t.equal(`${service} ${region}`, scope);
  });

const untold = [
  'example.com',
  'amazonaws.com',
  's3.amazonaws.com.evil.example',
  'evilamazonaws.com',
  'bucket.s3-accelerate.amazonaws.com',
  'bucket.s3-accelerate.dualstack.amazonaws.com',
  'alias.accesspoint.s3-global.amazonaws.com',
  'a.b.c.amazonaws.com',
  'us-east-1.amazonaws.com',
  '127.0.0.1',
];
for (const host of untold)
  t.test(`does not guess service and region of ${host}`, async (t) => t.equal(scopeOfHost(host), undefined));
