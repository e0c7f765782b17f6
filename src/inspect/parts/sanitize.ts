import type { Call, CutBody, DataClass, Finding } from '../../core/call.ts';
import { after, type MaybePromise } from '../../util/maybe-promise.ts';
import { bodyFormat } from '../decode/body-format.ts';
import type { Cut } from '../redact/cuts.ts';
import { type CutFormat, redactBody } from '../redact/redact.ts';

/** Classes that SANITIZE cuts where the deciding rule names none. */
export const defaultCuts: readonly DataClass[] = ['SECRETS', 'PII', 'PHI'];

/** What counts: found with medium confidence or more, and no credential at its own vendor's place. */
export const counts = (finding: Finding): boolean => finding.confidence !== 'low' && !finding.atHome;

/**
 * Cutting moves what stands behind closer to what stands before, and makes new neighbours of a keyword: so what is left is read again, and
 * cut again. What still shows something after so many times cannot be sanitised.
 */
const roundsMax = 4;

/** Formats that say of each text how long it is: cut, it would be another message, or none. */
const countedTypes = /^application\/(?:grpc(?!\+json)|(?:x-|vnd\.google\.)?protobuf)/i;
/** A message of gRPC that still stands behind its length. */
const isFramed = ({ contentType, body }: Call): boolean =>
  /^application\/grpc/i.test(contentType) && (body[0] ?? 0) <= 1;

/**
 * The body with the findings of these classes cut out, and of SECRETS always; read again, it shows none of them. Undefined where what must
 * go sits in URL or header, where the body would not be what it was (JSON that no longer parses, protobuf), or where something is
 * left: then the call cannot be sent at all.
 */
export function sanitizedBody(call: Call, classes: readonly DataClass[]): Buffer | undefined {
  const isCut = isCutFor(classes);
  if (call.findings.some((it) => it.part === 'head' && isCut(it))) return undefined;
  if (!call.findings.some(isCut)) return call.body;
  if (call.uncounted.some((name) => classes.includes(name))) return undefined;
  if (isFramed(call)) return undefined;
  const { contentType, findings, plain = call.body, readAgain = () => none, markAgain, cutApart } = call;
  if (cutApart) {
    const name = classes.toSorted().join();
    if (!call.cutBodies?.has(name)) throw new CutFirst(call, classes, name);
    return call.cutBodies.get(name);
  }
  const readMarked = (body: Buffer): readonly Finding[] | undefined => {
    const left = readAgain(body);
    return left && markAgain ? markAgain(body, left) : left;
  };
  return withoutFindings({ bytes: plain, contentType, findings, readAgain: readMarked }, classes);
}

/** Thrown where a large body is to be cut, which is done in a thread. */
class CutFirst extends Error {
  readonly #call: Call;
  readonly #classes: readonly DataClass[];
  readonly #name: string;

  constructor(call: Call, classes: readonly DataClass[], name: string) {
    super('a large body is to be cut before it is judged');
    this.#call = call;
    this.#classes = classes;
    this.#name = name;
  }

  async cut(): Promise<void> {
    const call = this.#call;
    const cut = await cutInThread(call, isCutFor(this.#classes));
    call.cutBodies ??= new Map();
    call.cutBodies.set(this.#name, cut);
  }
}

/** Judges by what changes nothing: where a large body must be cut for that, it is cut apart, and then it is judged anew. */
export function withCuts<T>(judge: () => T): MaybePromise<T> {
  try {
    return judge();
  } catch (error) {
    if (!(error instanceof CutFirst)) throw error;
    return error.cut().then(() => withCuts(judge));
  }
}

/** As `withoutFindings`, in a thread. */
function cutInThread(
  { plain, body, contentType, findings, cutApart, markAgain }: Call,
  isCut: (it: Finding) => boolean,
): MaybePromise<Buffer | undefined> {
  return cutInRounds({ bytes: plain ?? body, contentType, findings }, isCut, async (bytes, cuts) => {
    const cut = await cutApart?.(bytes, cuts);
    return cut && markAgain ? { ...cut, findings: markAgain(cut.body, cut.findings) } : cut;
  });
}

/** Whether a finding goes where these classes are to be cut. */
export const isCutFor =
  (classes: readonly DataClass[]) =>
  (it: Finding): boolean =>
    counts(it) && (it.class === 'SECRETS' || classes.includes(it.class));

/** What is to be cut, and how what is left is read. */
export interface Cuttable {
  /** Without its content coding. */
  readonly bytes: Buffer;
  readonly contentType: string;
  readonly findings: readonly Finding[];
  /** By default what its type and its first bytes tell. */
  readonly format?: CutFormat | undefined;
  /** Undefined where it cannot be read to its end. */
  readAgain(bytes: Buffer): readonly Finding[] | undefined;
}

/** The bytes without the findings of these classes, and of SECRETS always; undefined where they cannot be cut, or some are left. */
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
/** Cuts findings out of a body and reads what is left; undefined where either cannot be done. */
type CutAndRead<R> = (bytes: Buffer, cuts: readonly Finding[]) => R;

/** Cuts until nothing that is to go is left. At once where each cut is made at once. */
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
