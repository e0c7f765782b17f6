import * as z from 'zod';
import {
  addressRange,
  day,
  duration,
  flag,
  gigabyte,
  headerName,
  hostGlob,
  hour,
  integer,
  matching,
  optionalSecret,
  path,
  secret,
  size,
  url,
  variable,
} from '../scalars.ts';
import { list, orNull, section, table } from '../section.ts';
import { listenAddresses, stateUrl } from './addresses.ts';

/* Settings of the daemon as a whole: listeners, state, files, log. */

const optionalPath = orNull(path);

const tls = section({
  cert: optionalPath.describe('PEM file with the certificate chain of the listener; null: plain HTTP.'),
  key: optionalPath.describe('PEM file with its private key.'),
}).prefault({});

export const mode = z
  .enum(['enforce', 'monitor'])
  .describe('enforce: decisions bind; monitor: they are recorded and everything passes.');

export const onFailure = z
  .enum(['closed', 'open'])
  .describe(
    'While the state is away: closed answers 503; open forwards for keys seen in the last 5 minutes.',
  );

export const proxy = section({
  listen: listenAddresses({ unix: false })
    .prefault('127.0.0.1:8080')
    .describe('Address, or list of addresses, of the forward proxy and /inbound; port 0 takes a free one.'),
  require_auth: flag
    .prefault(true)
    .describe(
      'Whether a call without a key is answered 407; false: it is one of the agent "unauthenticated" of the only tenant.',
    ),
  tls: tls.describe('Makes this an https:// proxy.'),
  proxy_protocol: flag
    .prefault(false)
    .describe('Whether every connection begins with a PROXY protocol header that tells the client address.'),
}).prefault({});

export const control = section({
  listen: listenAddresses({ unix: true })
    .prefault('127.0.0.1:8081')
    .describe(
      'Address, or list, of /v1, /inbound, /console, /metrics and the health checks; also unix:/path.',
    ),
  tls: tls.describe('Serves the control plane over https.'),
  trusted_proxies: list(addressRange, 256).describe(
    'Address ranges whose X-Forwarded-For is believed; the client is the rightmost entry outside of them.',
  ),
  names: list(hostGlob, 256).describe(
    'Further names under which clients reach the daemon, as hosts or globs; inbound routes of auth none and ip answer under no others.',
  ),
  admin_secret: optionalSecret
    .default('')
    .describe('Bearer secret for administration; empty: there is none. SERVICE_API_KEYS_ADMIN_SECRET wins.'),
}).prefault({});

export const state = section({
  url: stateUrl
    .prefault('embedded:./data')
    .describe('embedded:<dir>, redis://host/0?prefix=…, rediss://… or redis+cluster://host:port,host:port.'),
  dir: optionalPath.describe(
    'Directory for local files (listening.json, journal, keys); null: that of an embedded state, else ./data.',
  ),
  ca_file: optionalPath.describe(
    'PEM file with the authorities that a rediss:// server is verified against.',
  ),
  timeout: duration().prefault('1s').describe('The state counts as away when an answer takes longer.'),
  on_failure: onFailure.default('closed'),
}).prefault({});

export const workers = integer(1, 64)
  .prefault(1)
  .describe('Processes; more than one needs Redis. They end with their parent.');
export const drainDelay = duration(0, hour)
  .prefault('0s')
  .describe(
    'How long /readyz answers 503 before the listeners close, so that load balancers send calls elsewhere.',
  );
export const pidFile = optionalPath.describe('File that holds the process id while the daemon runs.');

export const authority = section({
  cert: path.default('./certs/ca.pem').describe('PEM file of the authority that signs intercepted hosts.'),
  key: path
    .default('./certs/ca-key.pem')
    .describe('PEM file of its private key, mode 0600; made on first start.'),
}).prefault({});

export const vault = section({
  key_file: optionalPath.describe(
    'File with the key of the vault: 32 bytes in hex or base64; null: made beside the state. Up to four, a line each: the first one seals, all open.',
  ),
  key_env: orNull(variable).describe('Environment variable that holds that key instead.'),
}).prefault({});

export const limits = section({
  max_body_bytes: size()
    .prefault('256KB')
    .describe(
      'A larger request body is refused unread; plans, tenants, routes and tools may raise it. MAX_BODY_BYTES wins. Unless one of these is written, the catalogue raises it to what the vendor takes.',
    ),
  max_body_bytes_total: size(65_536, 64 * gigabyte)
    .prefault('64MB')
    .describe(
      'Bytes of bodies and messages that are held at once for one agent, of each worker; four times as many for all agents. Further ones are answered GATEWAY_BUSY, and close a WebSocket with 1013. Those of up to 64 KB do not count.',
    ),
  max_decoded_bytes: size()
    .prefault('8MB')
    .describe('Bytes that are decoded of a body, beside the body itself.'),
  scan_timeout: duration(1, 60_000)
    .prefault('250ms')
    .describe(
      'Reading stops here and the call is denied. For up to 256 KB; longer contents have more, up to eight times.',
    ),
  header_timeout: duration().prefault('10s').describe('Until the head of a request has arrived.'),
  handshake_timeout: duration().prefault('10s').describe('Until a TLS handshake with a client is done.'),
  body_timeout: duration().prefault('60s').describe('Until the body of a request has arrived.'),
  idle_timeout: duration().prefault('5m').describe('A connection without traffic is closed after this.'),
  max_header_bytes: size(1024, 1024 * 1024)
    .prefault('64KB')
    .describe('Bytes of all headers of a request together.'),
  max_headers: integer(1, 10_000).prefault(200).describe('Number of headers of a request.'),
  max_connections: integer(1, 1_000_000)
    .prefault(10_000)
    .describe('Further ones are answered GATEWAY_BUSY. Of each of the two listeners, and of each worker.'),
  max_connections_per_agent: integer(1, 1_000_000)
    .prefault(256)
    .describe('The same for one agent, its ephemeral keys included. Streams count as well.'),
  max_connections_per_tenant: orNull(integer(1, 1_000_000)).describe(
    'The same for one tenant; null: as many as are still free, so that others find room.',
  ),
  max_ws_message_bytes: size().prefault('1MB').describe('A larger WebSocket message closes the connection.'),
  replay_window: duration(1000, hour)
    .prefault('60s')
    .describe('How old a timestamp may be, and how long nonces are remembered. REPLAY_WINDOW_SEC wins.'),
}).prefault({});

const responseMode = z.enum(['off', 'observe', 'enforce']);
const responseBytes = size(0);
const beyond = z.enum(['end', 'pass']);

export const responseScan = section({
  mode: responseMode
    .default('observe')
    .describe(
      'off: answers pass unread; observe: findings are recorded; enforce: they can block the answer.',
    ),
  max_bytes: responseBytes.prefault('1MB').describe('Bytes of an answer that are read.'),
  beyond: beyond
    .default('end')
    .describe('Of a longer answer under enforce. end: it does not come in; pass: the rest comes in unread.'),
}).prefault({});

/** The keys of `response_scan` where they only override. A key that is null changes nothing. */
export const responseScanOverride = section({
  mode: orNull(responseMode).describe('Instead of the mode of response_scan.'),
  max_bytes: orNull(responseBytes).describe('Instead of its max_bytes.'),
  beyond: orNull(beyond).describe('Instead of its beyond.'),
});

export const reading = section({
  threads: orNull(integer(0, 256)).describe(
    'Threads that read larger bodies, of each worker; null: what the cores leave, at least 1; 0: none.',
  ),
}).prefault({});

export const branding = section({
  header_word: matching(
    /^(?![Xx]-)[A-Za-z][A-Za-z0-9-]{0,31}$/,
    'must be letters, digits and "-", beginning with a letter, without the X- that stands before it',
  )
    .default('Service')
    .describe('The word in X-<word>-Decision and the other headers of the gateway.'),
}).prefault({});

export const activity = section({
  bodies: z
    .enum(['redacted', 'none'])
    .default('redacted')
    .describe('Whether traces keep a redacted, bounded extract of the body.'),
  retention: orNull(duration(hour, 3650 * day)).describe('How long traces are kept; null: as the plan says.'),
}).prefault({});

export const doctor = section({
  canary_url: url(['http', 'https'])
    .nullable()
    .default(null)
    .describe('URL that `postern doctor` calls through the proxy.'),
}).prefault({});

export const log = section({
  level: z
    .enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'])
    .default('info')
    .describe('Less severe lines are left out.'),
  file: optionalPath.describe(
    'File that the log is appended to, opened anew by each reload; null: standard error.',
  ),
  access: flag
    .prefault(false)
    .describe('Whether each call leaves a line at level info: never a path, query, header or body.'),
}).prefault({});

const ownHeaders = /^(?:content-(?:type|length)|host|connection|transfer-encoding)$/i;
const exporterHeader = headerName.refine((name) => !ownHeaders.test(name), {
  error: 'must be another header: this one is set by Postern',
});

export const telemetry = section({
  metrics: flag.prefault(true).describe('Whether /metrics answers.'),
  otlp: url(['http', 'https'])
    .nullable()
    .default(null)
    .describe('OTLP/HTTP endpoint that traces and metrics are exported to.'),
  otlp_headers: table(exporterHeader, secret, 32).describe(
    'Headers that the endpoint wants, such as an API key, as a reference to a variable or file.',
  ),
}).prefault({});
