import type { AssessedCall } from '../../core/call.ts';
import { ownName, type SafeName } from '../../core/safe-name.ts';
import { foldedName } from '../../wire/http1/folded-name.ts';
import { redactedFields } from '../trace/redacted.ts';

/*
 * Fields by which a request says what it does to what, or in whose name, where its method, URL and body do
 * not. A grant is for their values. Numbers, dates, signatures and tokens that clients make anew for each
 * attempt must not be among them. Otherwise no call would meet its grant.
 */

/**
 * Names of fields that are arguments in the APIs of vendors, WebDAV, SOAP, PostgREST and Kubernetes. So are
 * those that name what is uploaded, in AtomPub (RFC 5023), WordPress, tus and Supabase.
 */
const argument =
  /^(?:destination|overwrite|depth|soapaction|content-range|dropbox-api-(?:arg|path-root|select-.*)|(?:accept|content)-profile|prefer|impersonate-.*|content-disposition|slug|(?:x-)?file-?name|upload-(?:metadata|concat)|x-upsert)$/;
/** Names of fields of OpenStack Swift: what is copied, who may read it, and when it is deleted. */
const ofSwift =
  /^x-(?:(?:account|container|object|remove)-.*|copy-from(?:-account)?|delete-(?:at|after)|(?:versions|history)-location|symlink-target(?:-account)?)$/;
/**
 * Names of fields of stores and clouds. They are arguments, except those that belong to one attempt
 * (`ofAttempt`).
 */
const ofVendor = /^x-(?:amz|goog|ms|oss|cos|obs|bz)-(.*)$/;
const ofAttempt =
  /^(?:(?:.*-)?date|version|meta-.*|user-?agent|api-client|api-key|lease-id|activity-id|mfa|continuation|(?:return-)?client-.*|if-.*|.*(?:request-id|trace|token|jwt|signature|idempotency|invocation|retry|nonce|timestamp|sha256|checksum|trailer).*)$/;
/** Names of fields that name whoever something is done for, or what they own. */
const owner =
  /^(?:x-)?(?:[a-z]+-){0,2}(?:account|tenant|organi[sz]ation|org|orgid|workspace|project|subscription|team|realm|namespace|database|role|company|customer)(?:-?(?:id|uuid|name|slug))?$/;
const actsFor =
  /^(?:sudo|(?:x-)?(?:[a-z]+-){0,2}(?:(?:as|act-as|acting-as|run-as|on-behalf-of|impersonat[a-z]+)(?:-[a-z]+){0,2}|user(?:-?(?:id|name))?))$/;
/** Fields of a store that name what is copied, who may read it, and what opens the source. */
const copied =
  /^x-(?:amz|goog|ms|oss|cos|obs)-(?:.*-)?(?:source|source-.*|acl|grant-.*|public-access|permissions|owner)$/;

/** The bounds of what is shown of the fields. */
export const shownFieldsMax = 8;
export const shownFieldLengthMax = 256;
/** Names of fields that hold a key or token. The one who decides sees only their names. */
const isSecret = /key|token|authorization|secret|password/;

export function isTelling(field: string): boolean {
  const name = foldedName(field);
  const [, ofStore] = ofVendor.exec(name) ?? [];
  if (ofStore !== undefined) return copied.test(name) || !ofAttempt.test(ofStore);
  return argument.test(name) || ofSwift.test(name) || owner.test(name) || actsFor.test(name);
}

/** Returns the telling fields of a call as `name: value`, in the order of the headers. */
export function tellingFields({ headers }: AssessedCall): string[] {
  const found: string[] = [];
  for (let at = 0; at + 1 < headers.length; at += 2)
    if (isTelling(headers[at] ?? '')) found.push(`${foldedName(headers[at] ?? '')}: ${headers[at + 1]}`);
  return found;
}

/** Returns the telling fields as the one who decides may see them: without findings, and bounded. */
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
