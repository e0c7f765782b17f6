import { chosenTenant, session } from './api.ts';

/* Keeps changed texts that are not applied, so that neither another page nor a session's end loses them. */

const draftsMax = 20;
const drafts = new Map<string, string>();
let owner: string | undefined;

/** Returns the drafts of whoever is signed in. Anybody else who signs in here sees none of them. */
function ownDrafts(): Map<string, string> {
  const { tenant_id, subject } = session.value ?? {};
  const now = `${chosenTenant.value ?? tenant_id} ${subject}`;
  if (now !== owner) drafts.clear();
  owner = now;
  return drafts;
}

export const draftOf = (name: string): string | undefined => ownDrafts().get(name);

/** Keeps a text that differs from `standing`. Of too many drafts, the oldest is dropped. */
export function keepDraft(name: string, text: string, standing: string): void {
  const own = ownDrafts();
  own.delete(name);
  if (text === standing) return;
  const [oldest] = own.keys();
  if (own.size >= draftsMax && oldest !== undefined) own.delete(oldest);
  own.set(name, text);
}

export const dropDraft = (name: string): void => void ownDrafts().delete(name);
