import { type Content, typed, withHeader } from './group.ts';

/* Parts of calls to AWS. */

export const iam = 'POST https://iam.amazonaws.com/';
export const ec2 = 'POST https://ec2.eu-central-1.amazonaws.com/';
export const sts = 'POST https://sts.amazonaws.com/';
export const sns = 'POST https://sns.eu-central-1.amazonaws.com/';
export const dynamodb = 'POST https://dynamodb.eu-central-1.amazonaws.com/';
export const secrets = 'POST https://secretsmanager.eu-central-1.amazonaws.com/';
export const bucket = 'https://bucket.s3.amazonaws.com';
export const own = '111122223333';
export const foreign = '999988887777';
export const scope = (region: string, service: string): string =>
  `AWS4-HMAC-SHA256 Credential=EXAMPLE/20261122/${region}/${service}/aws4_request, SignedHeaders=host, Signature=00`;
/** A call of the JSON protocol. */
export const target = (name: string, body: object): Content =>
  withHeader('x-amz-target', name, typed('application/x-amz-json-1.1', JSON.stringify(body)));
export const trust = (principal: unknown): string =>
  JSON.stringify({ Statement: [{ Effect: 'Allow', Principal: principal, Action: 'sts:AssumeRole' }] });
export const role = (account: string): string => `arn:aws:iam::${account}:role/x`;
