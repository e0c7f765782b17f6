import * as z from 'zod';
import { verbs } from '../../core/call.ts';
import { parseSize } from '../../util/byte-size.ts';
import { parseBodyPath } from '../body-path.ts';
import { parsePathTemplate, plainRoute } from '../paths.ts';
import { parseHostPattern } from './hosts.ts';
import { parsePresence, parseSource, parseTagSource } from './sources.ts';

/*
 * The form of `config/tools/<vendor>.yaml`. A tool is a surface (hosts, and what can be done there), and may
 * have further `surfaces`. These have other hosts, or other paths that share a beginning. Texts with a
 * grammar of their own are checked here, so that all mistakes of a file are told at once. The result is plain
 * data, which can be kept: functions are made of it when a call needs them.
 */

/** These fields of `Resource` are one text. A placeholder of the name in a host or path fills its field. */
export const resourceFields = ['org', 'repo', 'channel', 'region', 'account', 'bucket'] as const;
export type ResourceField = (typeof resourceFields)[number];

/** Fields of the resource that may tell the owner, instead of the organisation. */
const ownerFields = ['account', 'channel', 'nobody'] as const;
export type OwnerField = (typeof ownerFields)[number];

/** Fields that a call may act on though no place tells which. */
export const unknownFields = [...resourceFields, 'tags'] as const;

/** Returns a schema for texts that `parse` understands. Its output is the parsed value. */
const parsed = <T>(parse: (text: string) => T | undefined, form: string) =>
  z.string().transform((text, context) => {
    const value = parse(text);
    if (value !== undefined) return value;
    context.addIssue({ code: 'custom', message: `"${text}" is not ${form}` });
    return z.NEVER;
  });

/**
 * Returns a schema for texts that `parse` understands. Its output is the text, which is parsed again where
 * the value is needed.
 */
const checked = (parse: (text: string) => unknown, form: string) =>
  z.string().superRefine((text, context) => {
    if (parse(text) === undefined) context.addIssue({ code: 'custom', message: `"${text}" is not ${form}` });
  });

const oneOrMore = <T extends z.ZodType>(schema: T) =>
  z.preprocess((value) => (Array.isArray(value) ? value : [value]), z.array(schema).min(1));

const identifier = z.string().regex(/^[a-z][a-z0-9_]{0,63}$/, 'must be a name in snake_case');
const route = parsed(plainRoute, 'a method and a path (GET|POST /repos/{org})');
const source = checked(parseSource, 'a place of a request (path:name, query:name, json:$.field, …)');
const tagSource = checked(parseTagSource, 'a place of tags (json:$.Tags, param:Tags.member, header:name)');

/** Places of the resource and principals of a call; all places that have a value count. */
const extract = z.strictObject({
  org: oneOrMore(source).optional(),
  repo: oneOrMore(source).optional(),
  channel: oneOrMore(source).optional(),
  region: oneOrMore(source).optional(),
  account: oneOrMore(source).optional(),
  bucket: oneOrMore(source).optional(),
  tags: oneOrMore(tagSource).optional(),
  /**
   * The place that tells whose property the operation acts on, as a tenant lists it in `org_accounts`. It is
   * a field of the resource, or a list of places. If it is left out, the owner is the organisation, or that
   * of the repository. `nobody` means that the operation leaves nothing with whom it names, but takes
   * something from there.
   */
  owner: z.union([z.enum(ownerFields), oneOrMore(source)]).optional(),
  /** Places of the principals. All of them count; a text with commas is a list. */
  principals: oneOrMore(source).optional(),
  /**
   * The place of the mail itself. Recipients that the body names in `to`, `cc`, `bcc` and `recipients` count
   * as well.
   */
  mail: checked(parsePresence, 'a place of a request (json:$.raw, param:to, …)').optional(),
  /**
   * Tells whether a placeholder of the path may have encoded slashes (`acme%2Fapp`), which belong to the
   * name.
   */
  decode_slashes: z.literal(true).optional(),
  /** Fields that are acted on though no place tells the value, as with ids that only the vendor resolves. */
  unknown: z.array(z.enum([...unknownFields, 'principals'])).optional(),
});

const operation = z
  .strictObject({
    verb: z.enum(verbs),
    call: oneOrMore(route).optional(),
    /** Names of the vendor's actions, on a surface with `rpc`. */
    rpc: oneOrMore(z.string().min(1)).optional(),
    /** Names of root fields, on a surface with `graphql`. */
    graphql: oneOrMore(z.string().min(1)).optional(),
    /** Further conditions: a place must have this value, or (true) must be there at all. */
    when: z
      .record(z.string(), z.union([z.literal(true), z.string()]))
      .superRefine((conditions, context) => {
        for (const [place, value] of Object.entries(conditions)) {
          if ((value === true ? parsePresence : parseSource)(place)) continue;
          context.addIssue({ code: 'custom', message: `"${place}" is not a place of a request` });
        }
      })
      .optional(),
    extract: extract.optional(),
    /**
     * Tells whether anybody, or whoever has a link, can read what it writes: then the content leaves the
     * organisation.
     */
    public: z.literal(true).optional(),
  })
  .refine(({ call, rpc, graphql }) => call || rpc || graphql, 'needs one of call, rpc, graphql');

/** Requests of the same tool in one body, each of which is understood by itself. */
const batch = z.strictObject({
  call: oneOrMore(route),
  /**
   * The form of the requests. `multipart` stands for parts of type application/http. Otherwise it is a path
   * to a list in JSON, whose members have the fields in `names`.
   */
  requests: z.union([
    z.literal('multipart'),
    parsed(parseBodyPath, 'multipart, or a path to a list ($.requests)'),
  ]),
  names: z
    .strictObject({
      method: z.string().default('method'),
      url: z.string().default('url'),
      body: z.string().default('body'),
      headers: z.string().default('headers'),
    })
    .prefault({}),
  /** The field of a request's own body whose content stands as the body in the batch. */
  wrap: z.string().optional(),
  /**
   * Tells below what the paths of the requests stand: the batch's path without its last segment (true), or
   * another path, which they may have themselves. Else they are whole.
   */
  below: z.union([z.boolean(), z.string().regex(/^(?:\/[\w.-]+)+$/, 'must be a path')]).default(false),
});

/**
 * Remote procedures, which have one path and name the action elsewhere. Unlisted actions get a name in
 * snake_case.
 */
const rpc = z.strictObject({
  call: oneOrMore(route),
  /** Places of the action's name; all count, and the strictest action wins. */
  action: oneOrMore(source),
  /** Beginnings of the names of actions that only read. */
  read: z.array(z.string().min(1)).default([]),
  /** Beginnings of the names of actions that change access, membership or settings. */
  admin: z.array(z.string().min(1)).default([]),
  /** The verb of all other actions. */
  verb: z.enum(['WRITE', 'ADMIN']).default('WRITE'),
  category: identifier.default('other'),
  /** The placeholder of the host whose value is the category of unlisted actions. */
  category_from: z.string().optional(),
});

const hosts = z.array(
  parsed(parseHostPattern, 'a host pattern (api.x.com, *.x.com, {name}.x.com, x.com/path)'),
);

/** A limit of a body, in bytes or with a unit. */
const bodySize = z.union([z.int().positive(), parsed(parseSize, 'a size (4096, 256KB, 32MB)')]);

const surface = z.strictObject({
  /** Hosts of the surface; undefined for those of the tool. */
  hosts: hosts.optional(),
  /**
   * The largest body that the vendor takes here, where its documentation says so; undefined for that of the
   * tool. It raises the limit of the gateway, where nobody has set one. It is asked for before the body is
   * read, so the largest of all surfaces at a host and path counts.
   */
  max_body_bytes: bodySize.optional(),
  base_paths: z.array(parsed(parsePathTemplate, 'a path')).default([[]]),
  /** Tells whether the vendor takes its paths, and the names of fields, in any case. */
  ignore_case: z.boolean().default(false),
  /**
   * Tells whether paths are those of OData: `users('ann')` is `users/ann`, `microsoft.graph.assign` is
   * `assign`.
   */
  odata: z.boolean().default(false),
  extract: extract.default({}),
  rpc: rpc.optional(),
  graphql: z.strictObject({ call: oneOrMore(route) }).optional(),
  batch: oneOrMore(batch).optional(),
  /** The verb of paths without an operation; undefined where the method tells it. */
  unknown_verb: z.enum(['WRITE', 'ADMIN']).optional(),
  /** Operations by category, then by name. Another surface may have the same name with the same verb. */
  operations: z.record(identifier, z.record(identifier, operation)).default({}),
});

const example = z.strictObject({
  method: z.string(),
  url: z.url(),
  headers: z.record(z.string(), z.string()).default({}),
  /** The body: an object is sent as JSON, a text without a declared type as a form. */
  body: z.union([z.string(), z.record(z.string(), z.unknown()), z.array(z.unknown())]).optional(),
  /** The expected operation. Its name alone stands for `{ operation: name }`. */
  expect: z.preprocess(
    (value) => (typeof value === 'string' ? { operation: value } : value),
    z.strictObject({
      operation: z.string(),
      verb: z.enum(verbs).optional(),
      category: z.string().optional(),
      resource: z.record(z.string(), z.unknown()).optional(),
      principals: z.array(z.string()).optional(),
    }),
  ),
});

export const toolSchema = surface.extend({
  name: identifier,
  title: z.string().min(1),
  hosts: hosts.min(1),
  /**
   * The tool that owns these hosts, where several tools share a vendor's hosts. It knows the paths that this
   * one lacks.
   */
  guest_of: identifier.optional(),
  surfaces: z.array(surface).default([]),
  /** The tests of the tool: requests, and what they must be understood as. */
  examples: z.array(example).default([]),
});

export type Tool = z.output<typeof toolSchema> & {
  /** Operations that the vendor publishes as data, for paths that the tool's own surfaces lack. */
  readonly table?: Surface;
};
export type Surface = z.output<typeof surface>;
export type OperationEntry = z.output<typeof operation>;
export type Extract = z.output<typeof extract>;
export type Rpc = z.output<typeof rpc>;
export type Batch = z.output<typeof batch>;
