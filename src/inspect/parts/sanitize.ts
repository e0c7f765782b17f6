import type { CutBody, DataClass, Finding, InspectedCall } from '../../core/call.ts';
import { after, type MaybePromise } from '../../util/maybe-promise.ts';
import { bodyFormat } from '../decode/body-format.ts';
import type { Cut } from '../redact/cuts.ts';
import { type CutFormat, redactBody } from '../redact/redact.ts';

/** The classes that SANITIZE cuts where the deciding rule names none. */
export const defaultCuts: readonly DataClass[] = ['SECRETS', 'PII', 'PHI'];

/** Tells whether a finding counts. It has medium confidence or more, and is no credential at its vendor's. */
export const counts = (finding: Finding): boolean => finding.confidence !== 'low' && !finding.atHome;

/**
 * Bound on the rounds of cutting. A cut brings text together and gives keywords new neighbours, so what is
 * left is read and cut again.
 */
const roundsMax = 4;

/**
 * Matches the types of formats with lengths or digests of their content. A cut would make something else of
 * them.
 */
const countedTypes = /^application\/(?:grpc(?!\+json)|(?:x-|vnd\.google\.)?protobuf|x-git-)/i;
/** Tells whether a body is a gRPC message that still has its length in front. */
const isFramed = ({ contentType, body }: InspectedCall): boolean =>
  /^application\/grpc/i.test(contentType) && (body[0] ?? 0) <= 1;

/**
 * Cuts the findings of these classes, and always those of SECRETS, until the body shows none when it is read
 * again. Returns undefined where the call cannot be sent: a finding stands in URL or header, a cut would
 * break the format, or something is left.
 */
export function sanitizedBody(call: InspectedCall, classes: readonly DataClass[]): Buffer | undefined {
  const isCut = isCutFor(classes);
  if (call.findings.some((it) => it.part === 'head' && isCut(it))) return undefined;
  if (!call.findings.some(isCut)) return call.body;
  if (call.inspection.uncounted.some((name) => classes.includes(name))) return undefined;
  if (isFramed(call)) return undefined;
  const { contentType, findings, plainBody, inspection, marks } = call;
  const { readAgain = () => none } = inspection;
  const { markAgain, cutBodies } = marks;
  if (cutBodies) {
    const name = classes.toSorted().join();
    if (!cutBodies.has(name)) throw new CutFirst(call, classes, name);
    return cutBodies.get(name);
  }
  const readMarked = (body: Buffer): readonly Finding[] | undefined => {
    const left = readAgain(body);
    return left && markAgain ? markAgain(body, left) : left;
  };
  return withoutFindings({ bytes: plainBody, contentType, findings, readAgain: readMarked }, classes);
}

/** Reports that a large body must be cut first, which is done in a thread. */
class CutFirst extends Error {
  readonly #call: InspectedCall;
  readonly #classes: readonly DataClass[];
  readonly #name: string;

  constructor(call: InspectedCall, classes: readonly DataClass[], name: string) {
    super('a large body is to be cut before it is judged');
    this.#call = call;
    this.#classes = classes;
    this.#name = name;
  }

  async cut(): Promise<void> {
    const call = this.#call;
    const cut = await cutInThread(call, isCutFor(this.#classes));
    call.marks.cutBodies?.set(this.#name, cut);
  }
}

/**
 * Runs `judge`, which must change nothing. Where a large body must be cut first, a thread cuts it and `judge`
 * runs anew.
 */
export function withCuts<T>(judge: () => T): MaybePromise<T> {
  try {
    return judge();
  } catch (error) {
    if (!(error instanceof CutFirst)) throw error;
    return error.cut().then(() => withCuts(judge));
  }
}

/** Cuts findings as `withoutFindings` does, but in a thread. */
function cutInThread(
  { plainBody, contentType, findings, inspection, marks }: InspectedCall,
  isCut: (it: Finding) => boolean,
): MaybePromise<Buffer | undefined> {
  const { cutApart } = inspection;
  const { markAgain } = marks;
  return cutInRounds({ bytes: plainBody, contentType, findings }, isCut, async (bytes, cuts) => {
    const cut = await cutApart?.(bytes, cuts);
    return cut && markAgain ? { ...cut, findings: markAgain(cut.body, cut.findings) } : cut;
  });
}

/** Creates a test whether a finding is cut when these classes are. */
export const isCutFor =
  (classes: readonly DataClass[]) =>
  (it: Finding): boolean =>
    counts(it) && (it.class === 'SECRETS' || classes.includes(it.class));

/** What to cut from, and how to read what is left. */
export interface Cuttable {
  /** The bytes without their content coding. */
  readonly bytes: Buffer;
  readonly contentType: string;
  readonly findings: readonly Finding[];
  /** The format; undefined for the one that content type and first bytes tell. */
  readonly format?: CutFormat | undefined;
  /** Returns the findings that are left; undefined where the bytes cannot be read to their end. */
  readAgain(bytes: Buffer): readonly Finding[] | undefined;
}

/** Returns the bytes without the findings of these classes and of SECRETS; undefined where that fails. */
export function withoutFindings(
  { format, readAgain, ...content }: Cuttable,
  classes: readonly DataClass[],
): Buffer | undefined {
  return cutInRounds(content, isCutFor(classes), (bytes, cuts) => {
    const body = redactBody(bytes, cuts.map(toCut), format ?? bodyFormat(content.contentType, bytes));
    const findings = body && readAgain(body);
    return findings && { body, findings };
  });
}

type Content = Pick<Cuttable, 'bytes' | 'contentType' | 'findings'>;
/** Cuts findings out of a body and reads what is left; undefined where either fails. */
type CutAndRead<R> = (bytes: Buffer, cuts: readonly Finding[]) => R;

/**
 * Cuts until nothing that must be cut is left. It is synchronous where each cut is. Returns undefined where a
 * cut fails or something is left after the last round.
 */
function cutInRounds(
  content: Content,
  isCut: (it: Finding) => boolean,
  cut: CutAndRead<CutBody | undefined>,
): Buffer | undefined;
function cutInRounds(
  content: Content,
  isCut: (it: Finding) => boolean,
  cut: CutAndRead<Promise<CutBody | undefined>>,
): MaybePromise<Buffer | undefined>;
function cutInRounds(
  { bytes, contentType, findings }: Content,
  isCut: (it: Finding) => boolean,
  cut: CutAndRead<MaybePromise<CutBody | undefined>>,
): MaybePromise<Buffer | undefined> {
  const goOn = (
    body: Buffer,
    found: readonly Finding[],
    roundsLeft: number,
  ): MaybePromise<Buffer | undefined> => {
    const cuts = found.filter(isCut);
    if (cuts.length === 0) return body;
    if (roundsLeft === 0 || countedTypes.test(contentType)) return undefined;
    return after(cut(body, cuts), (it) => it && goOn(it.body, it.findings, roundsLeft - 1));
  };
  return goOn(bytes, findings, roundsMax);
}

const none: readonly Finding[] = [];
export const toCut = ({ start, end, kind }: Finding): Cut => ({ start, end, label: kind });
