import { isObject } from './body-path.ts';
import { allFields, type FormField, formStart, multipartFields } from './protocols/form.ts';
import type { Request } from './request.ts';

/** Reads a body. Each structure is parsed when it is first asked for, and once. */
export class RequestBodyReading {
  readonly #request: Request;
  readonly #contentType: string;
  #form: readonly FormField[] | undefined;
  #json: { readonly value: unknown } | undefined;
  #structures: readonly unknown[] | undefined;
  #isUnclear = false;

  constructor(request: Request) {
    this.#request = request;
    this.#contentType = request.contentType.toLowerCase();
  }

  /** Tells whether a structure was asked for, and nobody can tell how the vendor reads it. */
  get isUnclear(): boolean {
    return this.#isUnclear;
  }

  /** Returns the fields of a body that is a form, or that the vendor may take for one. */
  form(): readonly FormField[] {
    this.#form ??= this.#readForm();
    return this.#form;
  }

  #readForm(): readonly FormField[] {
    const text = this.#request.bodyText() ?? '';
    if (this.#contentType.includes('json') && !formStart.test(text)) return [];
    const isMultipart = this.#contentType.startsWith('multipart/');
    const isDeclared = this.#contentType.startsWith('application/x-www-form-urlencoded');
    // The fields are read all the same, but the vendor may take others.
    if (isMultipart || isDeclared) this.#isUnclear ||= this.#request.bodyValue().kind === 'unclear';
    if (isMultipart) return multipartFields(text, this.#request.contentType);
    return isDeclared || !/^\s*[[{<]/.test(text) ? allFields(text) : [];
  }

  /**
   * Returns the body as JSON, whatever its declared type: several vendors do not look at it. Returns
   * undefined where it is none.
   */
  json(): unknown {
    this.#json ??= { value: this.#readJson() };
    return this.#json.value;
  }

  #readJson(): unknown {
    const text = this.#request.bodyText() ?? '';
    if (text === '') return undefined;
    const body = this.#request.bodyValue();
    this.#isUnclear ||= body.kind === 'unclear';
    if (body.kind !== 'value' || !/^\s*(?:[[{]|$)/.test(text)) return undefined;
    // Further readings are lines of JSON, and count as a batch. Those of a declared form are its fields,
    // which `form` reads.
    const isForm = this.#contentType.startsWith('application/x-www-form-urlencoded');
    return isForm || body.readings.length === 1 ? body.readings[0] : body.readings;
  }

  /**
   * Returns the body as JSON, or as the objects that a form is: servers that take both find the same fields.
   */
  structures(): readonly unknown[] {
    this.#structures ??= this.#readStructures();
    return this.#structures;
  }

  #readStructures(): readonly unknown[] {
    const json = this.json();
    if (json !== undefined) return [json];
    const body = this.#request.bodyValue();
    return body.kind === 'value' ? body.readings.map(withLists) : [];
  }

  /** Returns a field of the outermost object of the JSON body; undefined where it has none. */
  jsonField(name: string): unknown {
    const body = this.json();
    return isObject(body) && Object.hasOwn(body, name) ? body[name] : undefined;
  }
}

/** Turns objects with the fields 0, 1, 2 or '' into lists, since the lists of a form come as such objects. */
function withLists(value: unknown): unknown {
  if (!isObject(value)) return value;
  const entries = Object.entries(value).map(([name, it]) => [name, withLists(it)] as const);
  const isList = entries.length > 0 && entries.every(([name]) => /^\d*$/.test(name));
  return isList ? entries.map(([, it]) => it) : Object.fromEntries(entries);
}
