import type { AssessedCall } from '../../core/call.ts';
import { ownName, type SafeName } from '../../core/safe-name.ts';
import { foldedName } from '../../wire/http1/folded-name.ts';
import { redactedFields } from '../trace/redacted.ts';

/*
 * Fields by which a request says what it does to what, or in whose name, where its method, its URL and its
 * body do not. A grant is for their values. Fields that clients make anew for each attempt must not be among
 * them, or no call would meet its grant: numbers, dates, signatures, tokens.
 */

/** Arguments that vendors, WebDAV, SOAP, PostgREST and Kubernetes take in a field. */
const argument =
  /^(?:destination|overwrite|depth|soapaction|content-range|dropbox-api-(?:arg|path-root|select-.*)|(?:accept|content)-profile|prefer|impersonate-.*)$/;
/** Fields of stores and clouds have arguments, but for those of the attempt. */
const ofVendor = /^x-(?:amz|goog|ms|oss|cos|obs|bz)-(.*)$/;
const ofAttempt =
  /^(?:(?:.*-)?date|version|meta-.*|user-?agent|api-client|api-key|lease-id|activity-id|mfa|continuation|(?:return-)?client-.*|if-.*|.*(?:request-id|trace|token|jwt|signature|idempotency|invocation|retry|nonce|timestamp|sha256|checksum|trailer).*)$/;
/** Names of whoever it is done for, and of what they own. */
const owner =
  /^(?:x-)?(?:[a-z]+-){0,2}(?:account|tenant|organi[sz]ation|org|orgid|workspace|project|subscription|team|realm|namespace|database|role|company|customer)(?:-?(?:id|uuid|name|slug))?$/;
const actsFor =
  /^(?:sudo|(?:x-)?(?:[a-z]+-){0,2}(?:(?:as|act-as|acting-as|run-as|on-behalf-of|impersonat[a-z]+)(?:-[a-z]+){0,2}|user(?:-?(?:id|name))?))$/;
/** A store's fields that name what is copied, and who may read it, with whatever opens the source. */
const copied =
  /^x-(?:amz|goog|ms|oss|cos|obs)-(?:.*-)?(?:source|source-.*|acl|grant-.*|public-access|permissions|owner)$/;

/** Bounds what is shown of them. */
export const shownFieldsMax = 8;
export const shownFieldLengthMax = 256;
/** These tell how something is locked, and the one who decides needs their names alone. */
const isSecret = /key|token|authorization|secret|password/;

export function isTelling(field: string): boolean {
  const name = foldedName(field);
  const [, ofStore] = ofVendor.exec(name) ?? [];
  if (ofStore !== undefined) return copied.test(name) || !ofAttempt.test(ofStore);
  return argument.test(name) || owner.test(name) || actsFor.test(name);
}

/** Returns the telling fields of a call as `name: value`, unordered. */
export function tellingFields({ headers }: AssessedCall): string[] {
  const found: string[] = [];
  for (let at = 0; at + 1 < headers.length; at += 2)
    if (isTelling(headers[at] ?? '')) found.push(`${foldedName(headers[at] ?? '')}: ${headers[at + 1]}`);
  return found;
}

/** Returns them as who decides may see them: without findings, and bounded. */
export const shownFields = (call: AssessedCall): readonly SafeName[] =>
  redactedFields(call, isTelling, shownFieldsMax).map(({ name, text }) =>
    ownName(
      isSecret.test(foldedName(name))
        ? `${text.slice(0, name.length)}: …`
        : text.length > shownFieldLengthMax
          ? `${text.slice(0, shownFieldLengthMax - 1)}…`
          : text,
    ),
  );
