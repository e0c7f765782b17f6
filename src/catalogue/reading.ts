import type { BodyValue } from '../core/call.ts';
import type { Target } from '../core/target.ts';
import { isObject } from './body-path.ts';
import { type Capture, captured } from './paths.ts';
import { allFields, type FormField, formStart, multipartFields, valuesNamed } from './protocols/form.ts';
import { type RootField, rootFieldsOf } from './protocols/graphql.ts';

/** A request as the catalogue wants it: the body is asked for only where an operation depends on it. */
export interface Request {
  readonly method: string;
  readonly target: Target;
  /** Flat [name, value, …]. */
  readonly headers: readonly string[];
  /** The declared type; '' where there is none. */
  readonly contentType: string;
  /** The body as text, or its head where it is larger than the caller wants to spend on. */
  bodyText(): string | undefined;
  /** Tells whether an ASCII text stands in the body. */
  mentions(text: string): boolean;
  /** Tells whether the body's character set keeps `mentions` from finding letters. */
  isInOtherCharset(): boolean;
  /** The structure of the body. */
  bodyValue(): BodyValue;
  /** The same of another body, such as that of a request in a batch. */
  structureOf(contentType: string, body: string): BodyValue;
}

/** All values of a header in a flat list; the name is lower case. */
export function headerValues(headers: readonly string[], name: string): readonly string[] {
  const values: string[] = [];
  for (let i = 0; i < headers.length; i += 2) {
    const written = headers[i] ?? '';
    if (written.length === name.length && written.toLowerCase() === name) values.push(headers[i + 1] ?? '');
  }
  return values;
}

/** Documents of one request; a batch is rarely longer than ten. */
const documentsMax = 100;

/** A request being read: what is parsed of it is parsed when first asked for, and once. */
export class RequestReading {
  readonly request: Request;
  readonly #hostCaptures: ReadonlyMap<string, string>;
  readonly #contentType: string;
  #captures: readonly Capture[] = [];
  #segments: readonly string[] = [];
  #ignoresCase = false;
  #query: readonly FormField[] | undefined;
  #form: readonly FormField[] | undefined;
  #json: { readonly value: unknown } | undefined;
  #graphql: readonly (readonly RootField[] | undefined)[] | undefined;
  #rootField: RootField | undefined;
  #hidesArguments = false;
  #isUnclear = false;

  constructor(request: Request, hostCaptures: ReadonlyMap<string, string>) {
    this.request = request;
    this.#hostCaptures = hostCaptures;
    this.#contentType = request.contentType.toLowerCase();
  }

  /** From now on placeholders are those of the template that these segments matched, on a surface that may ignore case. */
  matched(captures: readonly Capture[], segments: readonly string[], ignoresCase = false): void {
    this.#captures = captures;
    this.#segments = segments;
    this.#ignoresCase = ignoresCase;
  }

  /** Tells whether the vendor takes names in any case, those of fields as well. */
  get ignoresCase(): boolean {
    return this.#ignoresCase;
  }

  /** Those of the path below the surface's host pattern. */
  get segments(): readonly string[] {
    return this.#segments;
  }

  /** The value of a placeholder of the path, or else of the host. */
  placeholder(name: string): string | undefined {
    for (const capture of this.#captures) {
      if (capture.name === name) return captured(capture, this.#segments);
    }
    return this.#hostCaptures.get(name);
  }

  /** Names of the host's placeholders. */
  get hostFields(): Iterable<string> {
    return this.#hostCaptures.keys();
  }

  /** All values of a header; the name is lower case. */
  header(name: string): readonly string[] {
    return headerValues(this.request.headers, name);
  }

  query(): readonly FormField[] {
    const { path } = this.request.target;
    const question = path.indexOf('?');
    this.#query ??= question < 0 ? [] : allFields(path.slice(question + 1));
    return this.#query;
  }

  /** Fields of a body that is, or may be taken by the vendor for, a form. */
  form(): readonly FormField[] {
    this.#form ??= this.#readForm();
    return this.#form;
  }

  #readForm(): readonly FormField[] {
    const text = this.request.bodyText() ?? '';
    if (this.#contentType.includes('json') && !formStart.test(text)) return [];
    const isMultipart = this.#contentType.startsWith('multipart/');
    const isDeclared = this.#contentType.startsWith('application/x-www-form-urlencoded');
    // Fields that are read all the same may not be those that the vendor takes.
    if (isMultipart || isDeclared) this.#isUnclear ||= this.request.bodyValue().kind === 'unclear';
    if (isMultipart) return multipartFields(text, this.request.contentType);
    return isDeclared || !/^\s*[[{<]/.test(text) ? allFields(text) : [];
  }

  /** The body as JSON, whatever its declared type: several vendors do not look at it. */
  json(): unknown {
    this.#json ??= { value: this.#readJson() };
    return this.#json.value;
  }

  #readJson(): unknown {
    const text = this.request.bodyText() ?? '';
    if (text === '') return undefined;
    const body = this.request.bodyValue();
    this.#isUnclear ||= body.kind === 'unclear';
    if (body.kind !== 'value' || !/^\s*(?:[[{]|$)/.test(text)) return undefined;
    // Further readings are lines, which a batch is like; but those of a declared form are its fields, which `form` reads.
    const isForm = this.#contentType.startsWith('application/x-www-form-urlencoded');
    return isForm || body.readings.length === 1 ? body.readings[0] : body.readings;
  }

  /** The root fields of each GraphQL document in the request; undefined for one that is not there or cannot be read. */
  graphql(): readonly (readonly RootField[] | undefined)[] {
    if (this.#rootField) return [[this.#rootField]];
    this.#graphql ??= this.#readGraphql();
    return this.#graphql;
  }

  /** From now on there is but one root field; undefined: all are there again. */
  narrowTo(rootField: RootField | undefined): void {
    this.#rootField = rootField;
    this.#hidesArguments = false;
  }

  /** Arguments were asked for, and some cannot be told: they are at the vendor's, nobody can read them, or there are too many. */
  hideArguments(): void {
    this.#hidesArguments = true;
  }

  /** A persisted query has no document: its text is at the vendor's. */
  #readGraphql(): readonly (readonly RootField[] | undefined)[] {
    const all = [...this.#documentsInBody(), ...this.#documentsIn(this.query())];
    return all.length > documentsMax ? [undefined] : all;
  }

  /** None of a GET, whose body nobody reads, and of an empty one. */
  #documentsInBody(): readonly (readonly RootField[] | undefined)[] {
    const text = this.request.bodyText() ?? '';
    if (this.request.method.toUpperCase() === 'GET' || text === '') return [];
    if (this.#contentType.startsWith('application/graphql'))
      return [this.#documentIn(text, valuesNamed(this.query(), 'variables')[0])];
    const body = this.json();
    if (body !== undefined) return this.#documentsOf(body);
    const form = this.form();
    // Uploads put the request into a field of their own.
    const uploads = valuesNamed(form, 'operations').map((it) => this.#structureOf(it));
    const documents = [...this.#documentsIn(form), ...uploads.flatMap((it) => this.#documentsOf(it))];
    return documents.length > 0 ? documents : [undefined];
  }

  #documentsOf(body: unknown): readonly (readonly RootField[] | undefined)[] {
    return (Array.isArray(body) ? body : [body])
      .slice(0, documentsMax + 1)
      .map((it) => (isObject(it) ? this.#documentIn(it['query'], it['variables']) : undefined));
  }

  #documentsIn(fields: readonly FormField[]): readonly (readonly RootField[] | undefined)[] {
    const [variables] = valuesNamed(fields, 'variables');
    return valuesNamed(fields, 'query').map((it) => this.#documentIn(it, variables));
  }

  /** Variables are an object, or the JSON of one. */
  #documentIn(document: unknown, variables: unknown): readonly RootField[] | undefined {
    if (typeof document !== 'string') return undefined;
    const given =
      typeof variables === 'string' && variables !== '' ? this.#structureOf(variables) : variables;
    // An ambiguous value counts as none.
    const object = given ?? {};
    return isObject(object) ? rootFieldsOf(document, object) : undefined;
  }

  /** The structure of a JSON text within the request; '' where it is none, or is ambiguous. */
  #structureOf(text: string): unknown {
    const value = this.request.structureOf('application/json', text);
    return value.kind === 'value' && value.readings.length === 1 ? value.readings[0] : '';
  }

  /** Tells whether somebody asked for the body or its arguments, and nobody can tell how the vendor reads them. */
  get isUnclear(): boolean {
    return this.#isUnclear || this.#hidesArguments;
  }

  /** A field of the body's outermost object, whatever its encoding. */
  jsonField(name: string): unknown {
    const body = this.json();
    return isObject(body) && Object.hasOwn(body, name) ? body[name] : undefined;
  }
}
