import { compileGlob } from '../../util/glob.ts';
import { nearest } from '../../util/nearest.ts';
import { schemePorts, splitUrlPattern, type UrlPattern } from '../match/url-pattern.ts';
import { shorten } from './shorten.ts';

/**
 * Returns what an author may have missed in a valid pattern: it matches nothing, or less or more than it
 * seems to. Returns undefined where there is nothing to say.
 */
export function urlPatternWarning(pattern: string, allows: boolean): string | undefined {
  const parts = splitUrlPattern(pattern);
  const text = whyNothing(pattern, parts) ?? whyLess(parts) ?? (allows ? whyMore(parts) : undefined);
  return text === undefined ? undefined : `${shorten(pattern)} ${text}`;
}

const webSchemes = Object.keys(schemePorts);

function whyNothing(pattern: string, { scheme, authority, rest, isGlob }: UrlPattern): string | undefined {
  const isWeb = scheme !== undefined && webSchemes.includes(scheme);
  const near =
    isWeb || scheme === undefined || /[*?[]/.test(scheme) ? undefined : nearest(scheme, webSchemes);
  if (near !== undefined) return `has the scheme ${shorten(scheme ?? '')}; did you mean ${near}?`;
  // A host without wildcards is brought into the form of URLs. All other text is compared as it stands.
  const compared = scheme === undefined ? pattern : isWeb && !isGlob ? rest : authority + rest;
  if (/[^!-~]|["<>]/.test(compared))
    return 'matches nothing: in URLs a path is percent-encoded, and a host in punycode';
  if (compared.includes('#')) return 'matches nothing: URLs are matched without what follows a #';
  if (authority.includes('@')) return 'matches nothing: no URL has a user name';
  return /^[^?]*\/(?:\.|%2e){1,2}\//i.test(rest)
    ? 'matches nothing: . and .. are resolved before URLs are matched'
    : undefined;
}

function whyLess({ scheme, authority, rest, isGlob }: UrlPattern): string | undefined {
  if (!isGlob || scheme === undefined) return undefined;
  const port = /:([^:\]]+)$/.exec(authority)?.[1];
  if (port !== undefined && isPortMissed(scheme, port))
    return "does not match the scheme's own port, which URLs leave out; write the host without a port, too";
  if (rest.includes('?') && !/[*[]/.test(rest))
    return 'has ?, which stands for one character, and so must match the whole URL; end it with * for what begins so';
  return undefined;
}

/**
 * Tells whether a pattern's port would match a port that no URL names. If the pattern writes out its scheme,
 * that scheme's port has been left out of the pattern, too.
 */
function isPortMissed(scheme: string, port: string): boolean {
  if (port === String(schemePorts[scheme])) return false;
  const isScheme = compileGlob(scheme);
  const isPort = compileGlob(port);
  return webSchemes.some((name) => isScheme(name) && isPort(String(schemePorts[name])));
}

function whyMore({ scheme, authority, rest, isGlob }: UrlPattern): string | undefined {
  if (scheme === undefined) return undefined;
  if (isGlob) {
    const stranger = strangerIn(authority.replace(/:[^:\]]*$/, '').replace(/\*+/g, '*'));
    return stranger && `also matches hosts of strangers, such as ${shorten(stranger)}`;
  }
  if (rest === '')
    return /:\d+$/.test(authority)
      ? undefined
      : "allows every port of the host; end it with / for the scheme's own";
  return /[\w-]$/.test(rest)
    ? `also matches paths that only begin so, such as ${rest.slice(rest.lastIndexOf('/')).slice(-32)}-x; end it with / for what lies below`
    : undefined;
}

/**
 * Returns a host that the pattern matches and anybody may register; undefined where there is none. Stars for
 * whole labels match no such host.
 */
function strangerIn(host: string): string | undefined {
  const labels = host.split('.');
  const [domain = '', top = ''] = labels.slice(-2);
  if (top.endsWith('*') && /\w/.test(host))
    return `${host.replace(/\.?\*$/, '').replaceAll('*', 'any')}.attacker.example`;
  const isOpen = /^\*\w/.test(domain) || (domain === '*' && /\w/.test(labels.slice(0, -2).join()));
  return isOpen && !top.includes('*') ? host.replaceAll('*', 'attacker') : undefined;
}
