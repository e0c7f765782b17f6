import { addressesWithin, hostOf, messageRecipients } from '../addresses.ts';
import { type BodyPath, isObject, parseBodyPath, textsOf, valuesAt } from '../body-path.ts';
import { arnAccounts, granteesOf, iamPrincipals, policyPrincipals, signedRegion } from '../protocols/aws.ts';
import { type FormField, parseFields, valuesNamed } from '../protocols/form.ts';
import { parseMultipart } from '../protocols/multipart.ts';
import type { RequestReading } from '../reading.ts';
import type { Request } from '../request.ts';

/** Reads one place of a request: all values that stand there. */
export type RequestSource = (reading: RequestReading) => readonly string[];
export type TagSource = (reading: RequestReading) => readonly (readonly [name: string, value: string])[];

const maybe = (value: string | undefined): readonly string[] => (value === undefined ? [] : [value]);

/**
 * Parses the name of a place; undefined where it is malformed. A tool's file can name these places:
 *
 *     `path:user`           A placeholder of the path or the host.
 *     `query:per_page`      A query parameter.
 *     `header:x-team`       A header.
 *     `json:$.a.b[*].c`     A path into a JSON body, or into a form (`a[b][0][c]`).
 *     `form:user`           A field of an urlencoded or multipart body. One * stands for anything.
 *     `param:channel`       Query, form and outermost JSON field together, for vendors that take a
 *                           parameter anywhere. A list in a form is JSON.
 *     `graphql:field.a.b`   An argument of a GraphQL root field, as literal or variable.
 *                           `graphql:*.input.email` is that of any field.
 *     `host:json:$.url`     The host of the URL at a place. An AWS resource name (ARN) is its account.
 *     `mail:json:$.who`     The mail addresses in the text at a place.
 *     `project:json:$.to`   The project that the resource name of Google Cloud at a place names.
 *     `bucket:json:$.to`    The bucket of the address (s3://, gs://, ARN) at a place.
 *     `public:json:$.x=yes` Everybody (`*`), where a place has one of these values (a,b=v|w: one of several
 *                           places). With != it is everybody also where the place has none.
 *     `arn:account`         The accounts of the AWS resources that path and fields name.
 *     `sigv4:region`        The region that an AWS request is signed for.
 *     `iam:json:$.Who`      The account that an IAM principal stands for.
 *     `policy:form:Policy`  The principals of the AWS policy document at a place (policy:body: the body).
 *     `grant:header:x-acl`  Everybody (`*`), where a canned grant of S3 is for all.
 *     `mime:json:$.raw`     The recipients of the e-mail at a place, plain or base64 (mime:body: the body).
 */
export function parseSource(text: string): RequestSource | undefined {
  const colon = text.indexOf(':');
  const argument = text.slice(colon + 1);
  if (colon < 0 || argument === '') return undefined;
  const kind = text.slice(0, colon);
  return Object.hasOwn(kinds, kind) ? kinds[kind]?.(argument) : undefined;
}

/** Returns the reader of a place that has been checked. */
export const sourceOf = (text: string): RequestSource => known(parseSource(text), text);
export const presenceOf = (text: string): RequestSource => known(parsePresence(text), text);
export const tagSourceOf = (text: string): TagSource => known(parseTagSource(text), text);

function known<T>(read: T | undefined, text: string): T {
  if (read === undefined) throw new Error(`"${text}" is not a place of a request`);
  return read;
}

/**
 * Parses a place that only has to be there, even without a text: JSON may have an object, a list or null. The
 * reader returns one text, which may be empty, for each value.
 */
export function parsePresence(text: string): RequestSource | undefined {
  const path = text.startsWith('json:') ? parseBodyPath(text.slice('json:'.length)) : undefined;
  if (!path) return parseSource(text);
  return (reading) =>
    reading.body
      .structures()
      .flatMap((it) => valuesAt(it, path, reading.ignoresCase))
      .flatMap((value) => (value === undefined ? [] : ['']));
}

const bodyText: RequestSource = (reading) => maybe(reading.request.bodyText());

const kinds: Readonly<Record<string, (argument: string) => RequestSource | undefined>> = {
  path: (name) => (reading) => maybe(reading.placeholder(name)),
  query: (name) => (reading) => valuesNamed(reading.query(), name),
  header: (name) => (reading) => reading.header(name.toLowerCase()),
  form: (name) => (reading) => valuesNamed(reading.body.form(), name),
  json: (argument) => {
    const path = parseBodyPath(argument);
    return (
      path &&
      ((reading) =>
        // Many servers take names of fields in any case, as Go's do (encoding/json).
        reading.body.structures().flatMap((it) => valuesAt(it, path, true).flatMap(textsOf)))
    );
  },
  param: (name) => (reading) => [
    ...valuesNamed(reading.query(), name).flatMap(listed),
    ...valuesNamed(reading.body.form(), name).flatMap(listed),
    ...textsOf(reading.body.jsonField(name)),
  ],
  graphql: (argument) => {
    const [name = '', ...steps] = argument.split('.');
    const path = steps.length > 0 ? parseBodyPath(`$.${steps.join('.')}`) : undefined;
    return path && ((reading) => graphqlArguments(reading, name, path));
  },
  arn: (field) => (field === 'account' ? arnAccounts : undefined),
  sigv4: (field) => (field === 'region' ? (reading) => maybe(signedRegion(reading)) : undefined),
  host: within((value) => (value.startsWith('arn:') ? iamPrincipals(value) : [hostOf(value)])),
  mail: within(addressesWithin),
  project: within(projectOf),
  bucket: within(bucketOf),
  public: everybodyWhere,
  iam: within(iamPrincipals),
  policy: (argument) => {
    const inner = argument === 'body' ? bodyText : parseSource(argument);
    return (
      inner &&
      ((reading) =>
        inner(reading).flatMap((text) =>
          // Values of several kinds may stand there; a text without an object is no policy document.
          text.includes('{') ? policyPrincipals(reading.request.structureOf('application/json', text)) : [],
        ))
    );
  },
  grant: within(granteesOf),
  mime: (argument) =>
    argument === 'body'
      ? (reading) => messagesIn(reading.request).flatMap(messageRecipients)
      : within(messageRecipients)(argument),
};

const condition = /^(.+?)(!?=)([^=]+)$/;

/**
 * Parses `PLACE,PLACE=value|value`: everybody if one value is there; with `!=`, everybody if none is. Case is
 * ignored.
 */
function everybodyWhere(argument: string): RequestSource | undefined {
  const [, placesText = '', sign, valuesText = ''] = condition.exec(argument) ?? [];
  const places = placesText.split(',').map(parseSource);
  if (sign === undefined || !places.every((it) => it !== undefined)) return undefined;
  const values = new Set(valuesText.toLowerCase().split('|'));
  return (reading) => {
    const has = places.some((read) => read(reading).some((it) => values.has(it.toLowerCase())));
    return has === (sign === '=') ? ['*'] : [];
  };
}

/**
 * Returns the project in a resource name of Google Cloud: `//pubsub.googleapis.com/projects/acme/topics/t`.
 */
function projectOf(name: string): readonly string[] {
  return maybe(/(?:^|\/)projects\/([^/]+)/.exec(name)?.[1]);
}

const bucketAddress = /^(?:s3a?:\/\/|gs:\/\/|arn:[\w-]{1,16}:s3:::|storage\.googleapis\.com\/)([^/]+)/;

function bucketOf(address: string): readonly string[] {
  return maybe(bucketAddress.exec(address)?.[1]);
}

/** Returns the body, or its parts behind the first: in uploads the first has the vendor's fields. */
function messagesIn(request: Request): readonly string[] {
  const text = request.bodyText() ?? '';
  if (!/^\s*multipart\//i.test(request.contentType)) return [text];
  const [, ...messages] = parseMultipart(text, request.contentType) ?? [];
  // A text that is no message has recipients that nobody knows: `messageRecipients` answers `*` for it.
  return messages.length > 0 ? messages.map(({ value }) => value) : [''];
}

/**
 * Returns the members of a list that a form has as JSON, as vendors take it: `emails=["ann@acme.com"]`. Any
 * other text stays whole.
 */
function listed(text: string): readonly string[] {
  if (!text.startsWith('[')) return [text];
  try {
    const items = textsOf(JSON.parse(text));
    return items.length > 0 ? items : [text];
  } catch {
    // The text only begins with a bracket.
    return [text];
  }
}

function graphqlArguments(reading: RequestReading, name: string, path: BodyPath): readonly string[] {
  const documents = reading.graphql();
  if (documents.includes(undefined)) reading.hideArguments();
  return documents.flatMap((fields = []) => {
    const own = fields.filter((it) => name === '*' || it.name === name);
    return own.flatMap((it) => valuesAt(it.arguments, path).flatMap(textsOf));
  });
}

/** Returns a kind whose argument is a place, and which reads something out of what stands there. */
function within(read: (value: string) => readonly string[]): (argument: string) => RequestSource | undefined {
  return (argument) => {
    const inner = parseSource(argument);
    return inner && ((reading) => inner(reading).flatMap(read));
  };
}

/**
 * Parses a place of tags; undefined for anything else. It is `json:$.Tags` (a list of Key and Value, or an
 * object), `param:Tags.member` (numbered fields that end in Key and Value) or `header:x-amz-tagging`
 * (urlencoded).
 */
export function parseTagSource(text: string): TagSource | undefined {
  const colon = text.indexOf(':');
  const argument = text.slice(colon + 1);
  switch (text.slice(0, colon)) {
    case 'header':
      return (reading) =>
        reading.header(argument.toLowerCase()).flatMap((value) => pairs(parseFields(value)));
    case 'param': {
      const prefix = `${argument}.`;
      const isOwn = ({ name }: FormField): boolean => name.startsWith(prefix);
      return (reading) =>
        numberedTags([...reading.query().filter(isOwn), ...reading.body.form().filter(isOwn)]);
    }
    case 'json': {
      const path = parseBodyPath(argument);
      return path && ((reading) => valuesAt(reading.body.json(), path).flatMap(tagsOf));
    }
    default:
      return undefined;
  }
}

const pairs = (fields: readonly FormField[]): (readonly [string, string])[] =>
  fields.map(({ name, value }) => [name, value] as const);

/**
 * Returns the tags in numbered fields: `Tags.member.1.Key=env&Tags.member.1.Value=prod`,
 * `TagSpecification.1.Tag.1.Key=…`.
 */
function numberedTags(own: readonly FormField[]): readonly (readonly [string, string])[] {
  if (own.length === 0) return [];
  const valuesOf = Map.groupBy(own, ({ name }) => name);
  return own
    .filter(({ name }) => name.endsWith('.Key'))
    .flatMap(({ name, value: key }) => {
      const values = valuesOf.get(`${name.slice(0, -'Key'.length)}Value`) ?? [{ value: '' }];
      return values.map(({ value }) => [key, value] as const);
    });
}

function tagsOf(tags: unknown): (readonly [string, string])[] {
  if (isObject(tags)) return Object.entries(tags).flatMap(([name, value]) => tag(name, value));
  if (!Array.isArray(tags)) return [];
  return tags.flatMap((item) =>
    isObject(item)
      ? tag(item['Key'] ?? item['key'] ?? item['TagKey'], item['Value'] ?? item['value'] ?? item['TagValue'])
      : [],
  );
}

const tag = (name: unknown, value: unknown): (readonly [string, string])[] =>
  typeof name === 'string' ? [[name, typeof value === 'string' ? value : '']] : [];
