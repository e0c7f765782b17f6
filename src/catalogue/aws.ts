import { isObject, parseJson, textsOf } from './body-path.ts';
import type { Reading } from './reading.ts';

/*
 * What AWS alone writes into its calls: resource names (ARNs), signatures with a credential scope, policy documents.
 */

const accountId = /^\d{12}$/;
/** Fields that say what a call acts on; others, such as a message, are content and may hold anybody's names. */
const naming = /(?:Arn|ARN|Id|Identifier|Name|Resource)s?(?:\.|$)/;

/**
 * The accounts of resource names (ARNs): in the path, or in fields of query, form and outermost JSON object that name a
 * resource.
 */
export function arnAccounts(reading: Reading): readonly string[] {
  const fields = [...reading.query(), ...reading.form()].filter(({ name }) => naming.test(name));
  const body = reading.json();
  const inJson = isObject(body) ? Object.entries(body).filter(([name]) => naming.test(name)) : [];
  const texts = [
    ...reading.segments,
    ...fields.map(({ value }) => value),
    ...inJson.flatMap(([, value]) => textsOf(value)),
  ];
  return texts.flatMap((text) => {
    const [arn, , , , account = ''] = text.startsWith('arn:') ? text.split(':', 5) : [];
    return arn && accountId.test(account) ? [account] : [];
  });
}

const scope = /Credential=[^/\s,&]{1,128}\/\d{8}\/([a-z0-9-]{1,32})\//;

/** The region that the request is signed for (Signature Version 4: credential scope), in its header or its query. */
export function signedRegion(reading: Reading): string | undefined {
  for (const header of reading.header('authorization')) {
    const region = scope.exec(header)?.[1];
    if (region !== undefined) return region;
  }
  const presigned = reading.query().find(({ name }) => name === 'X-Amz-Credential');
  return presigned && scope.exec(`Credential=${presigned.value}`)?.[1];
}

const statementsMax = 10_000;

/**
 * Whom an IAM principal stands for: the account of an ARN, for an organisation is known by its accounts, `*`, or an identity
 * provider as it is. AWS's own services belong to nobody and are left out.
 */
export function iamPrincipals(principal: string): readonly string[] {
  if (principal.endsWith('.amazonaws.com') || principal.endsWith('.amazonaws.com.cn')) return [];
  const [arn, , , , account = '', resource = ''] = principal.split(':', 6);
  // Whoever the provider lets in comes from outside, though the provider's entry is in the own account.
  const isProvider = resource.startsWith('oidc-provider/') || resource.startsWith('saml-provider/');
  return [arn !== 'arn' || isProvider || !accountId.test(account) ? principal : account];
}

/** Whom the statements of a policy document name as principals. */
export function policyPrincipals(document: unknown): readonly string[] {
  const policy = typeof document === 'string' ? parseJson(document) : document;
  if (!isObject(policy)) return [];
  const { Statement: statements } = policy;
  const list = Array.isArray(statements) ? statements.slice(0, statementsMax) : [statements];
  return list.flatMap((statement) => {
    if (!isObject(statement) || statement['Effect'] === 'Deny') return [];
    // Allowing all but some is allowing everybody.
    if (statement['NotPrincipal'] !== undefined) return ['*'];
    const principal = statement['Principal'];
    const named = isObject(principal) ? Object.values(principal).flatMap(textsOf) : textsOf(principal);
    return named.flatMap(iamPrincipals);
  });
}
