import { isNamed } from './field.ts';

/*
 * The heads of HTTP/1.1 messages (RFC 9112) as text: one character for each byte, so that nothing is lost or
 * interpreted. The parser is strict where others have been lenient. Two parsers in a row that read the same
 * bytes differently can be played against each other (request smuggling). It accepts no bare CR or LF, no
 * folded lines, and no empty line before the first. It accepts no white space before a colon and no control
 * characters. It accepts no two lengths, no length beside an encoding, and no transfer coding other than
 * `chunked`.
 *
 * One regular expression for each section says what is allowed, and `indexOf` cuts what it passed. Measured
 * with nine fields, that is a quarter faster than one loop over the characters. No character can match in two
 * places, so that a refusal takes linear time, too.
 *
 * Names, values and targets are slices, and a slice keeps the text of its whole head in memory. A value that
 * outlives its message, such as the key of a cache, needs a copy.
 */

/** Says why the bytes are no HTTP/1.1 that this gateway passes on, without quoting them. */
export class MalformedMessage extends Error {
  /** Tells whether the message is only longer than what is taken; it may be well-formed. */
  readonly isTooLarge: boolean;

  constructor(message: string, isTooLarge = false) {
    super(message);
    this.isTooLarge = isTooLarge;
  }
}

export interface Head {
  readonly isHttp10: boolean;
  /** Flat [name, value, …] in the message's order and casing; values without white space around them. */
  readonly fields: string[];
  /** Declared length of the body in bytes; -1 where none is declared. */
  readonly contentLength: number;
  readonly isChunked: boolean;
  /** All Connection options in lower case, without white space, between commas; '' for none. */
  readonly connection: string;
}

export interface ParsedRequestHead extends Head {
  readonly method: string;
  /**
   * The target (RFC 9112, 3.2), not parsed. Bytes beyond ASCII, which no URI has (RFC 3986, 2), are
   * percent-encoded.
   */
  readonly target: string;
}

export interface ResponseHead extends Head {
  readonly status: number;
}

const cr = 0x0d;
const emptyLine = Buffer.from('\r\n\r\n');
export const emptyLineBytes = emptyLine.length;

/**
 * Returns where the last line of the head ends, which is where `\r\n\r\n` begins, or -1. Bytes before `from`
 * were searched already.
 */
export const findHeadEnd = (bytes: Buffer, from: number): number =>
  bytes.indexOf(emptyLine, Math.max(0, from - emptyLineBytes + 1));

/** Tells whether a line that begins at `from` or later ends in a bare LF. */
export function hasBareLineFeed(bytes: Buffer, from: number): boolean {
  for (let at = bytes.indexOf('\n', from); at >= 0; at = bytes.indexOf('\n', at + 1)) {
    if (bytes[at - 1] !== cr) return true;
  }
  return false;
}

/** Characters of a token, as a class of a regular expression (RFC 9110, 5.6.2). */
export const tokenChars = "!#$%&'*+.^_`|~0-9A-Za-z-";
/** Characters of a value, as such a class: white space, what is visible, and obs-text (RFC 9110, 5.5). */
export const textChars = String.raw`\t\x20-\x7e\x80-\xff`;

const requestLine = new RegExp(
  String.raw`^([${tokenChars}]{1,32}) ([\x21-\x7e\x80-\xff]+) HTTP/1\.([01])\r\n`,
);
const statusLine = new RegExp(String.raw`^HTTP/1\.([01]) ([1-9][0-9]{2})(?: [${textChars}]*)?\r\n`);
/**
 * Matches the line of the one transfer coding. It allows no tabs, unlike RFC 9110: for some parsers `chunked`
 * before a tab is another coding.
 */
const chunkedLine = /\ntransfer-encoding: *chunked *\r/i;
const fieldLines = new RegExp(String.raw`(?:[${tokenChars}]+:[${textChars}]*\r\n)*$`, 'y');

/**
 * Parses the head of a request: latin1, with its last CRLF but without the empty line. Throws
 * `MalformedMessage`.
 */
export function parseRequestHead(text: string, fieldsMax: number): ParsedRequestHead {
  const line = requestLine.exec(text);
  if (!line) throw new MalformedMessage('The request line is malformed.');
  const [whole, method = '', sent = '', minor] = line;
  const target = withoutRawBytes(sent);
  const fields = readFields(text, whole.length, fieldsMax);
  const isHttp10 = minor === '0';
  const head = { method, target, isHttp10, fields, contentLength: -1, isChunked: false, connection: '' };
  readFraming(text, head);
  return head;
}

/**
 * Returns a target with its bytes beyond ASCII percent-encoded. Programs such as curl send them as they were
 * typed, and servers take both forms for the same.
 */
export const withoutRawBytes = (target: string): string =>
  rawByte.test(target)
    ? target.replace(rawBytes, (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase()}`)
    : target;

const rawByte = /[\x80-\xff]/;
const rawBytes = /[\x80-\xff]/g;

/**
 * Parses the head of an answer, which has the same form but for its first line. Throws `MalformedMessage`.
 */
export function parseResponseHead(text: string, fieldsMax: number): ResponseHead {
  const line = statusLine.exec(text);
  if (!line) throw new MalformedMessage('The status line is malformed.');
  const [whole, minor, status] = line;
  const fields = readFields(text, whole.length, fieldsMax);
  const isHttp10 = minor === '0';
  const head = {
    status: Number(status),
    isHttp10,
    fields,
    contentLength: -1,
    isChunked: false,
    connection: '',
  };
  readFraming(text, head);
  return head;
}

/** Parses trailers, flat. The caller leaves out what belongs into a head only (RFC 9110, 6.5.1). */
export function parseTrailers(text: string, fieldsMax: number): string[] {
  const fields = readFields(text, 0, fieldsMax);
  for (let i = 0; i < fields.length; i += 2) {
    const name = fields[i] as string;
    if (isNamed(name, 'content-length') || isNamed(name, 'transfer-encoding')) {
      throw new MalformedMessage('The trailers say how long the message is.');
    }
  }
  return fields;
}

/**
 * Tells whether the connection may carry another message (RFC 9112, 9.3). One of HTTP/1.0 never may, as it is
 * not asked to.
 */
export const isPersistent = (head: Head): boolean => !head.isHttp10 && !head.connection.includes(',close,');

/**
 * Reads the fields of a head or of trailers, flat (RFC 9112, 5). Throws where a line is malformed, or where
 * there are more than `fieldsMax` fields.
 */
function readFields(text: string, start: number, fieldsMax: number): string[] {
  fieldLines.lastIndex = start;
  if (!fieldLines.test(text)) throw new MalformedMessage('A field line is malformed.');
  const fields: string[] = [];
  for (let at = start; at < text.length; ) {
    if (fields.length === fieldsMax * 2) throw new MalformedMessage('The message has too many fields.', true);
    const colonAt = text.indexOf(':', at);
    const lineEnd = text.indexOf('\r', colonAt);
    fields.push(text.slice(at, colonAt), withoutBlanks(text, colonAt + 1, lineEnd));
    at = lineEnd + 2;
  }
  return fields;
}

/** Reads how long the message is and what becomes of its connection (RFC 9112, 6.1 to 6.3 and 9.3). */
function readFraming(text: string, head: { -readonly [key in keyof Head]: Head[key] }): void {
  const { fields } = head;
  for (let i = 0; i < fields.length; i += 2) {
    const name = fields[i] as string;
    const value = fields[i + 1] as string;
    if (isNamed(name, 'content-length')) {
      if (head.contentLength >= 0) throw new MalformedMessage('The message has two declared lengths.');
      head.contentLength = readLength(value);
    } else if (isNamed(name, 'transfer-encoding')) {
      if (head.isChunked || !chunkedLine.test(text)) {
        throw new MalformedMessage('The transfer coding is not one `chunked`.');
      }
      head.isChunked = true;
    } else if (isNamed(name, 'connection')) head.connection += readOptions(value);
  }
  // Where one hop believes the length and the next one the encoding, a request can be smuggled (RFC 9112,
  // 6.1).
  if (head.isChunked && (head.contentLength >= 0 || head.isHttp10)) {
    throw new MalformedMessage('The message says in two ways how long it is.');
  }
}

/** Reads a declared length, which has digits only (RFC 9110, 8.6). A number keeps fifteen of them exactly. */
function readLength(value: string): number {
  if (!/^[0-9]{1,15}$/.test(value)) throw new MalformedMessage('The declared length is malformed.');
  return Number(value);
}

/** Reads the options of a Connection field (RFC 9110, 7.6.1), in the form of `Head.connection`. */
function readOptions(value: string): string {
  if (value === 'keep-alive') return ',keep-alive,';
  const options = value.toLowerCase().split(',');
  return `,${options.map((option) => withoutBlanks(option, 0, option.length)).join()},`;
}

const space = 0x20;
const tab = 0x09;

/**
 * Returns a part of a text without blanks around it. HTTP knows only space and tab (RFC 9110, 5.6.3); `trim`
 * takes more, such as latin1's no-break space.
 */
function withoutBlanks(text: string, start: number, end: number): string {
  let from = start;
  let to = end;
  while (from < to && isBlank(text.charCodeAt(from))) from++;
  while (to > from && isBlank(text.charCodeAt(to - 1))) to--;
  return text.slice(from, to);
}

const isBlank = (code: number): boolean => code === space || code === tab;
