import type { BodyValue } from '../core/call.ts';
import type { Target } from '../core/target.ts';

/** A request as the catalogue reads it. The body is asked for only where an operation depends on it. */
export interface Request {
  readonly method: string;
  readonly target: Target;
  /** A flat list: name, value, name, value, … */
  readonly headers: readonly string[];
  /** The declared type; '' where there is none. */
  readonly contentType: string;
  /** Returns the body as text, or the first part of a body that is larger than the caller wants to decode. */
  bodyText(): string | undefined;
  /** Tells whether an ASCII text stands in the body. */
  mentions(text: string): boolean;
  /** Tells whether the body's character set keeps `mentions` from finding letters. */
  isInOtherCharset(): boolean;
  /** Returns the structure of the body. */
  bodyValue(): BodyValue;
  /** Returns the structure of another body, such as that of a request in a batch. */
  structureOf(contentType: string, body: string): BodyValue;
}

/** Returns all values of a header in a flat list; the name is lower case. */
export function headerValues(headers: readonly string[], name: string): readonly string[] {
  const values: string[] = [];
  for (let i = 0; i < headers.length; i += 2) {
    const written = headers[i] ?? '';
    if (written.length === name.length && written.toLowerCase() === name) values.push(headers[i + 1] ?? '');
  }
  return values;
}
