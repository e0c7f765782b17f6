import { type Capture, captured } from './paths.ts';
import { allFields, type FormField } from './protocols/form.ts';
import type { RootField } from './protocols/graphql.ts';
import { documentsIn } from './protocols/graphql-documents.ts';
import { headerValues, type Request } from './request.ts';
import { RequestBodyReading } from './request-body-reading.ts';

/** Reads a request. Each structure is parsed when it is first asked for, and once. */
export class RequestReading {
  readonly request: Request;
  readonly body: RequestBodyReading;
  readonly #hostCaptures: ReadonlyMap<string, string>;
  #captures: readonly Capture[] = [];
  #segments: readonly string[] = [];
  #ignoresCase = false;
  #query: readonly FormField[] | undefined;
  #graphql: readonly (readonly RootField[] | undefined)[] | undefined;
  #rootField: RootField | undefined;
  #hidesArguments = false;

  constructor(request: Request, hostCaptures: ReadonlyMap<string, string>) {
    this.request = request;
    this.#hostCaptures = hostCaptures;
    this.body = new RequestBodyReading(request);
  }

  /**
   * Sets the segments of the path and the placeholders that they matched, on a surface that may ignore case.
   */
  matched(captures: readonly Capture[], segments: readonly string[], ignoresCase = false): void {
    this.#captures = captures;
    this.#segments = segments;
    this.#ignoresCase = ignoresCase;
  }

  /** Tells whether the vendor takes names of path and fields in any case. */
  get ignoresCase(): boolean {
    return this.#ignoresCase;
  }

  /** Returns the segments of the path below the surface's host pattern. */
  get segments(): readonly string[] {
    return this.#segments;
  }

  /** Returns the value of a placeholder of the path, or else of the host; undefined where there is none. */
  placeholder(name: string): string | undefined {
    for (const capture of this.#captures) {
      if (capture.name === name) return captured(capture, this.#segments);
    }
    return this.#hostCaptures.get(name);
  }

  /** Returns the names of the host's placeholders. */
  get hostFields(): Iterable<string> {
    return this.#hostCaptures.keys();
  }

  /** Returns all values of a header; the name is lower case. */
  header(name: string): readonly string[] {
    return headerValues(this.request.headers, name);
  }

  query(): readonly FormField[] {
    const { path } = this.request.target;
    const question = path.indexOf('?');
    this.#query ??= question < 0 ? [] : allFields(path.slice(question + 1));
    return this.#query;
  }

  /**
   * Returns the root fields of each GraphQL document; undefined for a document that is missing or unreadable.
   */
  graphql(): readonly (readonly RootField[] | undefined)[] {
    if (this.#rootField) return [[this.#rootField]];
    this.#graphql ??= documentsIn(this);
    return this.#graphql;
  }

  /** Makes `graphql` answer one root field alone; undefined makes it answer all again. */
  narrowTo(rootField: RootField | undefined): void {
    this.#rootField = rootField;
    this.#hidesArguments = false;
  }

  /** Notes that some arguments cannot be told: they are at the vendor, unreadable, or too many. */
  hideArguments(): void {
    this.#hidesArguments = true;
  }

  /**
   * Tells whether the body or its arguments were asked for, and it is not known how the vendor reads them.
   */
  get isUnclear(): boolean {
    return this.body.isUnclear || this.#hidesArguments;
  }
}
