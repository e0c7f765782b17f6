import type { BodyValue } from '../../core/call.ts';
import { isObject, textsOf } from '../body-path.ts';
import type { RequestReading } from '../reading.ts';

/*
 * Reads what only AWS calls have: resource names (ARNs), signatures with a credential scope, and policy
 * documents.
 */

const accountId = /^\d{12}$/;
/**
 * Matches names of fields that say what a call acts on. Other fields, such as a message, are content and may
 * name anybody.
 */
const naming = /(?:Arn|ARN|Id|Identifier|Name|Resource|QueueUrl)s?(?:\.|$)/;
/** Matches the URL of a queue, which is its name in SQS. */
const queueUrl = /^https?:\/\/[\w.-]{1,253}\/(\d{12})\//;

/** Matches the end of a resource name, which Lambda takes for the whole. */
const partialName = /^(\d{12}):function:/;

/**
 * Returns the accounts in resource names, which are ARNs, URLs of queues and partial names of Lambda. They
 * stand in the path, or in fields of query, form and the JSON body with its requests.
 */
export function arnAccounts(reading: RequestReading): readonly string[] {
  const texts = [...reading.segments, ...namesIn(reading)];
  for (const fields of [reading.query(), reading.body.form()])
    for (const { name, value } of fields) if (naming.test(name)) texts.push(value);
  return texts.flatMap((text) => {
    if (!text.startsWith('arn:')) return (queueUrl.exec(text) ?? partialName.exec(text))?.[1] ?? [];
    const [, , , , account = ''] = text.split(':', 5);
    return accountId.test(account) ? [account] : [];
  });
}

const namesMax = 1000;
/**
 * Matches names of requests in a transaction or batch, and names of fields that have tables as values or
 * keys.
 */
const requests = /^[A-Z][A-Za-z]{2,16}$/;
/** Names of fields that hold items of DynamoDB, which may be any text. */
const contents = new Set(['Item', 'Key', 'Keys', 'ExpressionAttributeValues']);

const none: readonly string[] = Object.freeze([]);

/** Returns the names that stand in fields of a JSON body and its requests, and those that are keys. */
function namesIn(reading: RequestReading): readonly string[] {
  const body = reading.body.json();
  if (body === undefined) return none;
  const names: string[] = [];
  const open: unknown[] = [body];
  for (let at = 0; at < open.length && names.length < namesMax; at++) {
    const value = open[at];
    if (Array.isArray(value)) open.push(...value.slice(0, namesMax));
    if (!isObject(value)) continue;
    for (const [name, inner] of Object.entries(value)) {
      if (name.startsWith('arn:')) names.push(name);
      if (naming.test(name)) names.push(...textsOf(inner));
      else if (requests.test(name) && !contents.has(name)) open.push(inner);
    }
    if (open.length > namesMax) {
      reading.hideArguments();
      open.length = namesMax;
    }
  }
  if (names.length >= namesMax) reading.hideArguments();
  return names;
}

const scope = /Credential=[^/\s,&]{1,128}\/\d{8}\/([a-z0-9-]{1,32})\//;

/**
 * Returns the region that the request is signed for (Signature Version 4: credential scope); undefined where
 * none is told.
 */
export function signedRegion(reading: RequestReading): string | undefined {
  for (const header of reading.header('authorization')) {
    const region = scope.exec(header)?.[1];
    if (region !== undefined) return region;
  }
  const presigned = reading.query().find(({ name }) => name === 'X-Amz-Credential');
  return presigned && scope.exec(`Credential=${presigned.value}`)?.[1];
}

const statementsMax = 10_000;

/**
 * Returns whom an IAM principal stands for: `*`, an identity provider, or the account of an ARN. An
 * organisation is known by its accounts. AWS's own services belong to nobody and are left out.
 */
export function iamPrincipals(principal: string): readonly string[] {
  if (principal.endsWith('.amazonaws.com') || principal.endsWith('.amazonaws.com.cn')) return [];
  const [arn, , , , account = '', resource = ''] = principal.split(':', 6);
  // A provider lets in people from outside, though the provider's entry is in the own account.
  const isProvider = resource.startsWith('oidc-provider/') || resource.startsWith('saml-provider/');
  return [arn !== 'arn' || isProvider || !accountId.test(account) ? principal : account];
}

/** Canned grants of S3 for anybody at all; others are for the owner, or for services of AWS. */
const openGrants = new Set(['public-read', 'public-read-write', 'authenticated-read']);

export const granteesOf = (grant: string): readonly string[] => (openGrants.has(grant.trim()) ? ['*'] : []);

/** Returns the principals of a policy document; `*` where it is ambiguous or cannot be read. */
export function policyPrincipals(document: BodyValue): readonly string[] {
  if (document.kind === 'unclear') return ['*'];
  return document.kind === 'none' ? [] : document.readings.flatMap(principalsIn);
}

function principalsIn(policy: unknown): readonly string[] {
  if (!isObject(policy)) return [];
  const { Statement: statements } = policy;
  const list = Array.isArray(statements) ? statements : [statements];
  if (list.length > statementsMax) return ['*'];
  return list.flatMap((statement) => {
    if (!isObject(statement) || statement['Effect'] === 'Deny') return [];
    // A statement that allows all but some allows everybody.
    if (statement['NotPrincipal'] !== undefined) return ['*'];
    const principal = statement['Principal'];
    const named = isObject(principal) ? Object.values(principal).flatMap(textsOf) : textsOf(principal);
    return named.flatMap(iamPrincipals);
  });
}
