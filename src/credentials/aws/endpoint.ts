import { packagedLines } from '../../util/files/packaged-lines.ts';
import { lazily } from '../../util/lazily.ts';
import type { AwsScope } from './sign.ts';

/*
 * Finds service and region of a signature by the host that a request goes to ("Service endpoints and quotas",
 * AWS General Reference; "Request routing" and "Virtual hosting", Amazon S3 User Guide). For a host that
 * tells neither, or that no form here fits, the configuration must name them: AWS would refuse a guess.
 */

const suffixes: readonly (readonly [suffix: string, homeRegion: string])[] = [
  ['.amazonaws.com.cn', 'cn-north-1'],
  ['.amazonaws.com', 'us-east-1'],
  ['.api.amazonwebservices.com.cn', 'cn-north-1'],
  ['.api.aws', 'us-east-1'],
  ['.on.aws', ''],
  ['.c2s.ic.gov', 'us-iso-east-1'],
  ['.sc2s.sgov.gov', 'us-isob-east-1'],
];

const region = /^(?:fips-)?([a-z]{2}(?:-[a-z]+){1,2}-\d{1,2})$/;
/** Labels that say how a service is reached, not which one it is. */
const ways: ReadonlySet<string> = new Set(['dualstack', 'vpce', 'fips']);

/** Services whose signatures have another name than their host. */
const signingNames = lazily(
  () => new Map(packagedLines('hosts/aws-signing-names.txt').map((it) => it.split(' ') as [string, string])),
);

/** Regions of services that have one endpoint for all regions, elsewhere than in the home region. */
const globalRegions: Readonly<Record<string, string>> = {
  globalaccelerator: 'us-west-2',
  networkmanager: 'us-west-2',
  'route53.cn': 'cn-northwest-1',
  'organizations.cn': 'cn-northwest-1',
};

/** Tells whether a host answers only stored objects: S3 gives them as they are, and runs nobody's code. */
export const isObjectStore = (host: string): boolean =>
  /^s3(?:express)?$/.test(scopeOfHost(host)?.service ?? '');

/**
 * Returns service and region of a host, which is in lower case, without a port. Returns undefined where the
 * host does not tell both.
 */
export function scopeOfHost(host: string): AwsScope | undefined {
  for (const [suffix, home] of suffixes)
    if (host.endsWith(suffix)) return scopeOf(host.slice(0, -suffix.length).split('.'), home);
  return undefined;
}

function scopeOf(labels: readonly string[], home: string): AwsScope | undefined {
  return s3Scope(labels, home) ?? regionalScope(labels) ?? globalScope(labels, home);
}

const s3Label =
  /^s3(?:-(?:fips|accesspoint|accesspoint-fips|control|control-fips|object-lambda|object-lambda-fips|outposts|outposts-fips|website|external-1))?$/;
/** Matches the old form, with the region in the label of the service. */
const s3InRegion = /^s3-(?:fips-)?([a-z]{2}(?:-[a-z]+){1,2}-\d{1,2})$/;
const s3Express = /^s3express(?:-control|-fips)?(?:-[a-z]{3,4}\d-az\d+)?$/;

/**
 * Returns the scope of a host of S3; undefined for any other. Names of buckets stand before the service and
 * may have any labels, so the service is looked for from the end. Acceleration and access points of several
 * regions do not tell a region.
 */
function s3Scope(labels: readonly string[], home: string): AwsScope | undefined {
  const [last = '', ...before] = labels.filter((it) => !ways.has(it)).reverse();
  const inRegion = s3InRegion.exec(last)?.[1];
  if (inRegion !== undefined) return { service: 's3', region: inRegion };
  if (last === 's3' || last === 's3-external-1') return { service: 's3', region: home };
  const [, at] = region.exec(last) ?? [];
  const own = before[0] ?? '';
  if (at === undefined) return undefined;
  if (s3Express.test(own)) return { service: 's3express', region: at };
  if (!s3Label.test(own)) return undefined;
  const name = own.replace(/-fips$/, '');
  const isOther = name === 's3-object-lambda' || name === 's3-outposts';
  return { service: isOther ? name : 's3', region: at };
}

/**
 * Returns the scope of `<id>.<service>.<region>`, or of `<id>.<region>.<service>`, as search, queues and some
 * others have it.
 */
function regionalScope(labels: readonly string[]): AwsScope | undefined {
  const names = labels.filter((it) => !ways.has(it));
  const at = names.findLastIndex((it) => region.test(it));
  const [, found] = region.exec(names[at] ?? '') ?? [];
  if (found === undefined) return undefined;
  const behind = names.slice(at + 1);
  const service = behind.length > 0 ? behind.join('.') : nameOf(names.slice(0, at));
  return service === '' ? undefined : { service: toSigningName(service), region: found };
}

/**
 * Returns the scope of a host without a region: `iam.amazonaws.com`, or in another partition
 * `iam.us-gov.amazonaws.com`.
 */
function globalScope(labels: readonly string[], home: string): AwsScope | undefined {
  const [service = '', partition, ...more] = labels.map((it) => it.replace(/-fips$/, ''));
  if (home === '' || more.length > 0 || !/^[a-z0-9-]+$/.test(service)) return undefined;
  if (region.test(service) || service === 's3-accelerate' || partition === 's3-accelerate') return undefined;
  if (partition === 'us-gov') return { service: toSigningName(service), region: 'us-gov-west-1' };
  if (partition !== undefined) return undefined;
  const own = globalRegions[home.startsWith('cn-') ? `${service}.cn` : service];
  return { service: toSigningName(service), region: own ?? home };
}

/**
 * Returns the name of the service among the labels before a region: the last two where they are a known name,
 * else the last.
 */
function nameOf(labels: readonly string[]): string {
  const two = labels
    .slice(-2)
    .join('.')
    .replace(/-fips$/, '');
  // Each account has a host of its own for its devices.
  if (two.endsWith('-ats.iot')) return 'data.iot';
  return signingNames().has(two) ? two : (labels.at(-1) ?? '');
}

function toSigningName(service: string): string {
  const name = service.replace(/^fips-|-fips$/g, '');
  return signingNames().get(name) ?? name;
}
