import {
  type CredentialMarks,
  type Finding,
  type Homing,
  type InspectedCall,
  noMarks,
} from '../core/call.ts';
import { counts } from '../inspect/parts/sanitize.ts';
import { inBody, type PlacedCredential } from './credential-places.ts';
import { isOf } from './found-credentials.ts';

/** Says where a credential is at home: here, at another host, or nowhere so far. */
export type Standing = 'here' | 'elsewhere' | 'free';

/** Is a credential in its place in a call, with what is known of its home. */
export interface HomedCredential {
  readonly credential: PlacedCredential;
  /** Those that are bound: of its texts, and of what was found in it. */
  readonly hashes: readonly string[];
  /** Those of which none may be at home elsewhere, whatever it is composed of. */
  readonly looked: readonly string[];
  /** The same of its pieces, unless they were looked up for this home lately. */
  readonly pieces: readonly string[];
  /** The text under which a composed credential is remembered; undefined where it has none. */
  readonly composed: string | undefined;
  standing: Standing;
  /** It is at home, and not by this call alone. */
  isKnown: boolean;
}

/** The findings of the call with what is at home and what is at home elsewhere noted in them. */
export function marksOf(
  call: InspectedCall,
  placed: readonly HomedCredential[],
  homing: Homing | undefined,
): CredentialMarks {
  const marks = { ...noMarks(call.inspection), homing };
  if (placed.length === 0) return marks;
  return {
    ...marks,
    findings: marked(call.findings, placed),
    knownCredentials: placed.flatMap((it) => (it.isKnown ? it.credential.texts : [])),
    markAgain: marker(call, placed),
  };
}

/** Marks the credentials at home in a body that was cut. */
const marker =
  (call: InspectedCall, placed: readonly HomedCredential[]): NonNullable<CredentialMarks['markAgain']> =>
  (body, findings) => {
    if (findings.length === 0) return findings;
    const left = inBody(call, body).flatMap((credential) => {
      const before = placed.find(
        (it) =>
          it.credential.location === credential.location && it.credential.texts[0] === credential.texts[0],
      );
      return before?.standing === 'here' || before?.standing === 'free' ? { ...before, credential } : [];
    });
    return marked(findings, left);
  };

function marked(findings: readonly Finding[], placed: readonly HomedCredential[]): Finding[] {
  const unseen = new Set(placed.filter((it) => it.standing === 'elsewhere'));
  const all = findings.map((finding): Finding => {
    if (finding.class !== 'SECRETS' || !counts(finding)) return finding;
    const it = placed.find(({ credential }) => isOf(finding, credential));
    if (!it) return finding;
    unseen.delete(it);
    return it.standing === 'elsewhere' ? { ...finding, isMisdirected: true } : { ...finding, atHome: true };
  });
  for (const { credential } of unseen) all.push(misdirected(credential));
  return all;
}

/** No detector sees it, and yet it is known. */
const misdirected = ({ part, location, start, end }: PlacedCredential): Finding => ({
  ...{ class: 'SECRETS', kind: 'bound-credential', confidence: 'medium' },
  ...{ location, part, start, end, atHome: false, vendorHosts: [], isMisdirected: true },
});
