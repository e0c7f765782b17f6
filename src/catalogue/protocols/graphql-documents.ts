import { isObject } from '../body-path.ts';
import type { Request } from '../request.ts';
import type { RequestBodyReading } from '../request-body-reading.ts';
import { type FormField, valuesNamed } from './form.ts';
import { type RootField, rootFieldsOf } from './graphql.ts';

/** Bound on the documents of one request; a batch is rarely longer than ten. */
const documentsMax = 100;

/** The root fields of a document; undefined where it is not there or cannot be read. */
type Document = readonly RootField[] | undefined;

/** The parts of a request in which documents stand. */
interface Places {
  readonly request: Request;
  readonly body: RequestBodyReading;
  query(): readonly FormField[];
}

/**
 * Returns the documents of a request. A persisted query has none that could be read, since its text is at the
 * vendor's.
 */
export function documentsIn(places: Places): readonly Document[] {
  const all = [...inBody(places), ...inFields(places.request, places.query())];
  return all.length > documentsMax ? [undefined] : all;
}

/** Returns the documents in the body. A GET, whose body nobody reads, has none, nor has an empty body. */
function inBody(places: Places): readonly Document[] {
  const { request, body } = places;
  const text = request.bodyText() ?? '';
  if (request.method.toUpperCase() === 'GET' || text === '') return [];
  if (request.contentType.toLowerCase().startsWith('application/graphql'))
    return [documentOf(request, text, valuesNamed(places.query(), 'variables')[0])];
  const json = body.json();
  if (json !== undefined) return inJson(request, json);
  const form = body.form();
  // Uploads put the request into a field of its own.
  const uploads = valuesNamed(form, 'operations').map((it) => structureOf(request, it));
  const documents = [...inFields(request, form), ...uploads.flatMap((it) => inJson(request, it))];
  return documents.length > 0 ? documents : [undefined];
}

const inJson = (request: Request, body: unknown): readonly Document[] =>
  (Array.isArray(body) ? body : [body])
    .slice(0, documentsMax + 1)
    .map((it) => (isObject(it) ? documentOf(request, it['query'], it['variables']) : undefined));

function inFields(request: Request, fields: readonly FormField[]): readonly Document[] {
  const [variables] = valuesNamed(fields, 'variables');
  return valuesNamed(fields, 'query').map((it) => documentOf(request, it, variables));
}

/** Reads one document. Its variables are an object, or the JSON of one. */
function documentOf(request: Request, document: unknown, variables: unknown): Document {
  if (typeof document !== 'string') return undefined;
  const given =
    typeof variables === 'string' && variables !== '' ? structureOf(request, variables) : variables;
  // Variables that are ambiguous, or no JSON, are '' here: then the document cannot be read.
  const object = given ?? {};
  return isObject(object) ? rootFieldsOf(document, object) : undefined;
}

/** Returns the structure of a JSON text within the request; '' where it is none, or is ambiguous. */
function structureOf(request: Request, text: string): unknown {
  const value = request.structureOf('application/json', text);
  return value.kind === 'value' && value.readings.length === 1 ? value.readings[0] : '';
}
