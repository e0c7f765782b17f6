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

/** The place where a credential is at home: here, at another host, or nowhere so far. */
export type Standing = 'here' | 'elsewhere' | 'free';

/** A credential in its place in a call, with what is known of its home. */
export interface HomedCredential {
  readonly credential: PlacedCredential;
  /** Hashes to be bound: those of its texts, and of what was found in it. */
  readonly hashes: readonly string[];
  /**
   * Hashes to be looked up: none of them may be at home elsewhere, whatever the credential is composed of.
   */
  readonly looked: readonly string[];
  /**
   * Hashes of its pieces, which may not be at home elsewhere either. It is empty where they were looked up
   * for this home lately.
   */
  readonly pieces: readonly string[];
  /** The key under which a composed credential is remembered; undefined where it has no pieces. */
  readonly composed: string | undefined;
  standing: Standing;
  /** Tells whether it is at home by more than this call. */
  isKnown: boolean;
}

/**
 * Returns the marks of a call: its findings, with a note on what is at home here and what is at home
 * elsewhere.
 */
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

/** Returns what marks the credentials at home in a body of which findings were cut out. */
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

/** Makes a finding of a credential that is at home elsewhere, and that no detector sees. */
const misdirected = ({ part, location, start, end }: PlacedCredential): Finding => ({
  ...{ class: 'SECRETS', kind: 'bound-credential', confidence: 'medium' },
  ...{ location, part, start, end, atHome: false, vendorHosts: [], isMisdirected: true },
});
