import { randomUUID } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { resolve } from 'node:path';
import t, { type Test } from 'tap';
import { run } from '../support/clients.ts';
import { needProgram } from '../support/programs.ts';
import { awsKeyId } from '../support/secrets.ts';
import { startUpstream, type UpstreamHandler } from '../support/upstream.ts';
import { type AgentLab, allowed, firstPending, startAgentLab } from './support.ts';

/* The client in Python, run by the machine's python3: with a running gateway, and with servers that answer what no gateway would. */

const folder = resolve(import.meta.dirname, '../../src/sdk/python');
const key = 'iv_live_a-key-that-nobody-may-see';

/** What every script begins with. `failed` gives what a call has raised, as JSON has it. */
const opening = `
import json, os, sys, urllib.request, urllib.error
import postern
from postern import *

gateway = Postern(os.environ["POSTERN_URL"], os.environ["POSTERN_KEY"], timeout=float(os.environ.get("TIMEOUT", "60")))
target = os.environ.get("TARGET_URL", "")

def failed(work):
    try:
        work()
    except PosternError as error:
        assert os.environ["POSTERN_KEY"] not in repr(error) + str(vars(error)), "the key is in no error"
        return {"type": type(error).__name__, **vars(error)}
    except Exception as error:
        assert os.environ["POSTERN_KEY"] not in repr(error), "the key is in no error"
        return {"type": type(error).__name__, "code": getattr(error, "code", None)}
    return {"type": None}

def show(value):
    print(json.dumps(value, default=lambda it: it.decode("latin-1") if isinstance(it, bytes) else vars(it)))
`;

const python = needProgram(t, 'python3');

// biome-ignore lint/suspicious/noExplicitAny: what the script shows is looked into field by field
async function shownBy(t: Test, script: string, env: Readonly<Record<string, string>>): Promise<any> {
  const args = ['-W', 'error', '-B', '-c', opening + script];
  const { code, stdout, stderr } = await run(python ?? '', args, { PYTHONPATH: folder, ...env });
  t.same({ code, stderr }, { code: 0, stderr: '' }, 'the script runs without a warning');
  return stdout === '' ? undefined : JSON.parse(stdout);
}

const envOf = ({ gateway, upstream }: AgentLab): Record<string, string> => ({
  POSTERN_URL: gateway.controlUrl,
  POSTERN_KEY: gateway.key,
  TARGET_URL: upstream.origin,
  NO_PROXY: '*',
});

/** A server in the place of the gateway. */
async function inItsPlace(t: Test, handler: UpstreamHandler) {
  const server = await startUpstream(t, handler, { tls: false });
  return { server, env: { POSTERN_URL: server.origin, POSTERN_KEY: key } };
}

if (python) {
  t.test('it is one file, that needs Python 3.9 and nothing else', async (t) => {
    t.same(readdirSync(folder), ['postern.py']);
    const parse = `
import ast, pathlib, sys
sys.path.insert(0, sys.argv[1])
ast.parse(pathlib.Path(sys.argv[1], "postern.py").read_text("utf-8"), feature_version=(3, 9))
import postern`;
    // Without the folder of installed packages.
    const args = ['-I', '-S', '-B', '-W', 'error', '-c', parse, folder];
    t.match(await run(python, args), { code: 0, stdout: '', stderr: '' });
  });

  t.test('a call is judged, and what the gateway refuses is typed', async (t) => {
    const lab = await startAgentLab(t);
    const secret = awsKeyId();
    const shown = await shownBy(
      t,
      `
url = "https://api.example.org/clean"
secret = os.environ["SECRET"]
latin1 = {"content-type": "text/plain"}
import gzip
show({
  "value": gateway.scan("POST", url, body={"note": secret, "n": [1, None]}, context="a greeting", headers={"x-list": ["a", "b"]}),
  "text": gateway.scan("POST", url, body="key " + secret).sanitized_body,
  "bytes": gateway.scan("POST", url, body=("\\ufeffkey " + secret).encode()).sanitized_body,
  "latin1": gateway.scan("POST", url, body=("key " + secret + " \\xfc").encode("latin-1"), headers=latin1).sanitized_body,
  "gzip": gateway.scan("POST", url, body=gzip.compress(("key " + secret).encode()), headers={"Content-Encoding": "gzip"}).sanitized_body,
  "quotes": len(gateway.scan("POST", url, body=b'"' * 200_000).sanitized_body),
  "nothing": gateway.scan("POST", url).sanitized_body,
  "denied": gateway.scan("GET", "https://api.example.org/deny").decision,
  "invalid": failed(lambda: gateway.scan("GET", "relative")),
  "key": failed(lambda: Postern(os.environ["POSTERN_URL"], "iv_live_wrong").scan("GET", url)),
  "unknown": failed(lambda: gateway.scan_response(trace_id="${randomUUID()}")),
})`,
      { ...envOf(lab), SECRET: secret },
    );
    t.match(shown, {
      value: {
        decision: 'SANITIZE',
        risk_score: Number,
        reason_codes: ['POLICY_SANITIZE', 'SECRETS'],
        classifications: ['SECRETS'],
        sanitized_body: { note: /^\[REDACTED:/, n: [1, null] },
        findings: [{ class: 'SECRETS', location: 'body:$.note' }],
        policy_name: 'test',
        approval_id: null,
      },
      text: /^key \[REDACTED:/,
      bytes: /^\xef\xbb\xbfkey \[REDACTED:/,
      latin1: /^key \[REDACTED:.* \xfc$/,
      gzip: /^key \[REDACTED:/,
      quotes: 200_000,
      denied: 'DENY',
      invalid: { type: 'PosternError', code: 'VALIDATION_FAILED', status: 400, errors: [{ path: 'url' }] },
      key: { code: 'INVALID_KEY', status: 401 },
      unknown: { code: 'NOT_FOUND', status: 404 },
    });
  });

  t.test('answers are reported, keys minted, and approvals waited for', async (t) => {
    const lab = await startAgentLab(t);
    const script = `
held = gateway.scan("POST", "https://api.example.org/ask", body={"pay": 5})
decided = gateway.wait_for_approval(held.approval_id)
minted = gateway.mint_ephemeral_key(ttl_seconds=60, max_uses=1, tools=["github"], verbs=[], description="for a test")
child = Postern(os.environ["POSTERN_URL"], minted.key)
show({
  "decided": decided,
  "after": gateway.scan("POST", "https://api.example.org/ask", body={"pay": 5}).reason_codes,
  "report": gateway.scan_response(trace_id=held.trace_id, response_body={"a": os.environ["SECRET"]}, response_status=200),
  "hidden": minted.key in repr(minted),
  "minted": minted,
  "scope": child.scan("GET", "https://api.example.org/let").violations,
  "used": failed(lambda: child.scan("GET", "https://api.example.org/let")),
  "pending": gateway.wait_for_approval(gateway.scan("POST", "https://api.example.org/ask").approval_id, timeout=0.2).status,
  "elsewhere": failed(lambda: gateway.wait_for_approval("../keys")),
})`;
    const shown = shownBy(t, script, { ...envOf(lab), SECRET: awsKeyId() });
    await lab.decide(await firstPending(lab), 'approved', { note: 'fine' });
    t.match(await shown, {
      decided: { status: 'approved', note: 'fine', decided_at: /^\d{4}-/ },
      after: ['RECENT_APPROVAL_GRANT'],
      report: { data_classes: ['SECRETS'], fields_redacted_count: 1, injection_detected: false },
      hidden: false,
      minted: { key: /^iv_eph_/, max_uses: 1, expires_at: /^\d{4}-/ },
      scope: [String],
      used: { code: 'INVALID_KEY' },
      pending: 'pending',
      elsewhere: { type: 'ValueError' },
    });
  });

  t.test('a server in the place of the gateway that says the key again puts it into no error', async (t) => {
    const escaped = Array.from(key, (it) => `\\u${it.charCodeAt(0).toString(16).padStart(4, '0')}`).join('');
    const { env } = await inItsPlace(t, (_request, response) => {
      response.writeHead(403).end(`{"code":"FORBIDDEN","detail":"${escaped}"}`);
    });
    const shown = await shownBy(
      t,
      `
import socket, threading, traceback
listener = socket.create_server(("127.0.0.1", 0))
def echo():
    for _ in range(2):
        peer, _ = listener.accept()
        peer.sendall(peer.recv(65536).split(b"\\r\\n", 1)[1])
        peer.close()
threading.Thread(target=echo, daemon=True).start()
def traced(client):
    try:
        client.scan("GET", "https://a.example/")
    except PosternError as error:
        return "".join(traceback.format_exception(type(error), error, error.__traceback__))
port = listener.getsockname()[1]
show([traced(gateway), traced(Postern("http://127.0.0.1:%d" % port, os.environ["POSTERN_KEY"]))])
listener.close()`,
      env,
    );
    t.match(shown, [/FORBIDDEN[\s\S]*\[key\]|\[key\]/, /cannot be reached \(BadStatusLine\)/]);
    for (const it of shown) t.notMatch(it, key);
  });

  t.test('a guarded call goes out as it was judged, sanitized, or not at all', async (t) => {
    const lab = await startAgentLab(t);
    const secret = awsKeyId();
    const shown = await shownBy(
      t,
      `
import io
secret = os.environ["SECRET"].encode()
def send(path, data=None, headers={}, **options):
    with gateway.guard(**options)(urllib.request.Request(target + path, headers=headers), data) as answer:
        return [answer.status, answer.read()]
def parts():
    yield b"a"
    yield b"b"
buffer = bytearray(b"first")
class Changes:
    def read(self, size=-1):
        part, self.part = getattr(self, "part", b"once"), b""
        return part
def endless():
    while True:
        yield b"x" * 1000
show({
  "get": send("/let"),
  "bytes": send("/let", b"a=b"),
  "parts": send("/let", parts()),
  "file": send("/let", io.BytesIO(b"file")),
  "changes": send("/let", Changes()),
  "clean": send("/clean", b"key " + secret, {"Content-Type": "text/plain", "Digest": "x", "Content-MD5": "x"}),
  "binary": send("/clean", b"\\xff key " + secret, {"Content-Type": "text/plain"}),
  "url": gateway.guarded_urlopen(target + "/let#part").status,
  "denied": failed(lambda: send("/deny", b"x")),
  "held": failed(lambda: send("/ask", on_approval="raise")),
  "late": failed(lambda: send("/ask", approval_timeout=0.3)),
  "large": failed(lambda: send("/let", endless(), body_bytes_max=5000)),
  "text": failed(lambda: send("/let", "text")),
  "host": failed(lambda: send("/let", headers={"Host": "other.example"})),
  "latin1": failed(lambda: send("/let", headers={"x-a": "\\xff"})),
  "urls": [failed(lambda: gateway.guarded_urlopen(it))["code"] for it in [
    "http://a.example\\\\@b.example/", "http://a:b@c.example/", "http://a.example/x/../deny", "http://a.example/x/%2E./deny",
    "file:///etc/passwd", "ftp://a.example/", "http://a.example/ü", "http://a.example/\\tx", "data:text/plain,x"]],
})`,
      { ...envOf(lab), SECRET: secret },
    );
    const sent = lab.upstream.requests;
    t.match(shown, {
      get: [200, '{"ok":true}'],
      clean: [200, String],
      url: 200,
      denied: {
        ...{
          type: 'PosternDenied',
          code: 'POLICY_DENIED',
          reason_codes: ['NOT_THERE'],
          explanation: [String],
        },
        trace_id: String,
      },
      held: { type: 'PosternApprovalRequired', approval_status: 'pending', approval_id: String },
      late: { type: 'PosternApprovalRequired', approval_status: 'pending' },
      large: { code: 'BODY_TOO_LARGE', limit_bytes: 5000 },
      text: { type: 'TypeError' },
      host: { code: 'UNSUPPORTED_REQUEST' },
      latin1: { code: 'UNSUPPORTED_REQUEST' },
      urls: Array(9).fill('UNSUPPORTED_REQUEST'),
    });
    t.same(
      sent.map((it) => `${it.method} ${it.url} ${it.body.toString('latin1').replace(/\[.*\]/, '[]')}`),
      [
        'GET /let ',
        'POST /let a=b',
        'POST /let ab',
        'POST /let file',
        'POST /let once',
        'POST /clean key []',
        'POST /clean \xff key []',
        'GET /let ',
      ],
    );
    t.match(sent[1]?.headers, { 'content-type': 'application/x-www-form-urlencoded', 'content-length': '3' });
    t.same([sent[5]?.headers['digest'], sent[5]?.headers['content-md5']], [undefined, undefined]);
  });

  t.test('a call that needs an approval waits for it, and is sent once', async (t) => {
    const lab = await startAgentLab(t);
    const script = `
guarded = gateway.guard()
first = guarded(target + "/ask", b"pay 5").status
show([first, failed(lambda: guarded(target + "/ask", b"pay 6"))])`;
    const shown = shownBy(t, script, envOf(lab));
    await lab.decide(await firstPending(lab), 'approved');
    await lab.decide(await firstPending(lab), 'denied', { note: 'too much' });
    t.match(await shown, [200, { type: 'PosternDenied', note: 'too much', approval_id: String }]);
    t.equal(lab.upstream.requests.length, 1);
  });

  t.test('each redirect is a call of its own', async (t) => {
    const leads: UpstreamHandler = ({ url = '' }, response) => {
      const { pathname, searchParams } = new URL(url, 'http://a');
      const [, status] = /^\/to\/(\d+)/.exec(pathname) ?? [];
      const location = pathname === '/on' ? '/on' : searchParams.get('location');
      if (pathname === '/missing') return void response.writeHead(404).end('no');
      if (status === undefined && pathname !== '/on') return void response.end('there');
      response.writeHead(Number(status ?? 302), location === null ? {} : { location }).end('on the way');
    };
    const lab = await startAgentLab(t, leads);
    const elsewhere = await startUpstream(t, leads, { tls: false });
    const shown = await shownBy(
      t,
      `
from urllib.parse import quote
other = os.environ["OTHER_URL"]
headers = {"Authorization": "Bearer x", "Cookie": "a=b", "X-Own": "c", "Content-Type": "application/json"}
def through(status, location, data=b"{}"):
    call = urllib.request.Request(target + "/to/%d?location=%s" % (status, quote(location, safe="")), data=data, headers=headers)
    with gateway.guarded_urlopen(call) as answer:
        return [answer.status, answer.url, answer.read()]
show({
  "found": through(302, "/let"),
  "kept": through(307, other + "/let"),
  "permanent": through(308, other + "/let"),
  "denied": failed(lambda: through(302, other + "/deny")),
  "endless": failed(lambda: gateway.guarded_urlopen(target + "/on")),
  "refused": [failed(lambda: through(302, it))["code"] for it in ["ftp://a.example/", "file:///etc/passwd", "http://a:b@c/", "http://["]],
  "nowhere": failed(lambda: gateway.guarded_urlopen(target + "/to/302")),
  "missing": failed(lambda: gateway.guarded_urlopen(target + "/missing")),
})`,
      { ...envOf(lab), OTHER_URL: elsewhere.origin },
    );
    t.match(shown, {
      found: [200, `${lab.upstream.origin}/let`, 'there'],
      kept: [200, `${elsewhere.origin}/let`, 'there'],
      denied: { type: 'PosternDenied' },
      endless: { code: 'TOO_MANY_REDIRECTS' },
      refused: Array(4).fill('REDIRECT_REFUSED'),
      nowhere: { type: 'HTTPError', code: 302 },
      missing: { type: 'HTTPError', code: 404 },
    });
    t.match(lab.upstream.requests[1], { method: 'GET', url: '/let', headers: { authorization: 'Bearer x' } });
    t.equal(lab.upstream.requests[1]?.headers['content-type'], undefined);
    t.equal(elsewhere.requests.length, 2, 'what is denied is not reached');
    for (const { method, headers, body } of elsewhere.requests) {
      t.match(
        { method, headers, body: body.toString() },
        { method: 'POST', headers: { 'x-own': 'c' }, body: '{}' },
      );
      t.same([headers.authorization, headers.cookie], [undefined, undefined], 'not for another origin');
    }
    t.equal(lab.upstream.requests.filter((it) => it.url === '/on').length, 11);
  });

  t.test('what answers in the place of a gateway is relied on for nothing', async (t) => {
    const elsewhere = await startUpstream(t, undefined, { tls: false });
    const said = (fields: object) => JSON.stringify({ ...allowed, ...fields });
    const answers: readonly [
      code: string,
      requests: number,
      status: number,
      body: string,
      headers?: object,
    ][] = [
      ['INVALID_ANSWER', 1, 200, '{"decision":"ALLOW"'],
      ['INVALID_ANSWER', 1, 200, 'null'],
      ['INVALID_ANSWER', 1, 200, '[]'],
      ['INVALID_ANSWER', 1, 200, said({ risk_score: Number.NaN }).replace('null', 'NaN')],
      ['INVALID_ANSWER', 1, 200, `${'['.repeat(100_000)}${']'.repeat(100_000)}`],
      // The parser takes so many, and whatever walks through its value in Python does not.
      ['INVALID_ANSWER', 1, 200, `${'['.repeat(900)}${']'.repeat(900)}`],
      ['HTTP_ERROR', 1, 403, `${'['.repeat(900)}${']'.repeat(900)}`],
      ['INVALID_ANSWER', 1, 200, said({ junk: 'x'.repeat(1 << 24) })],
      ['INVALID_ANSWER', 1, 200, said({ decision: 'allow' })],
      ['INVALID_ANSWER', 1, 200, said({ decision: ['ALLOW'] })],
      ['INVALID_ANSWER', 1, 200, said({ risk_score: true })],
      ['INVALID_ANSWER', 1, 200, said({ decision: 'REQUIRE_APPROVAL' })],
      ['INVALID_ANSWER', 1, 200, said({ decision: 'SANITIZE' })],
      ['INVALID_ANSWER', 1, 200, said({ decision: 'SANITIZE', sanitized_body: { a: 1 } })],
      ['INVALID_ANSWER', 1, 302, '', { location: elsewhere.origin }],
      ['INVALID_ANSWER', 1, 307, '', { location: elsewhere.origin }],
      ['HTTP_ERROR', 2, 502, `<html>${key}`],
      ['SHUTTING_DOWN', 2, 503, JSON.stringify({ code: 'SHUTTING_DOWN', detail: key })],
      ['GATEWAY_BUSY', 1, 503, '{"code":"GATEWAY_BUSY"}', { 'retry-after': '6' }],
      ['RATE_LIMITED', 1, 429, '{"code":"RATE_LIMITED"}', { 'retry-after': '1' }],
    ];
    const requests = new Map<string, number>();
    const { env } = await inItsPlace(t, ({ url = '' }, response) => {
      const at = url.split('/')[1] ?? '';
      requests.set(at, (requests.get(at) ?? 0) + 1);
      const [, , status, body, headers = {}] = answers[Number(at)] ?? ['', 0, 500, ''];
      response.writeHead(status, { ...headers }).end(body);
    });
    const shown = await shownBy(
      t,
      `
base, key = os.environ["POSTERN_URL"], os.environ["POSTERN_KEY"]
show([failed(lambda: Postern(base + "/" + str(at), key, timeout=60).guarded_urlopen(target + "/let", b"x"))["code"] for at in range(${answers.length})])`,
      { ...env, TARGET_URL: elsewhere.origin },
    );
    t.same(
      shown,
      answers.map(([code]) => code),
    );
    t.same(
      answers.map((_, at) => requests.get(String(at))),
      answers.map(([, times]) => times),
      'what is asked again',
    );
    t.equal(elsewhere.connections(), 0, 'the key follows no redirect, and nothing is sent');
  });

  t.test(
    'a gateway is asked a second time after what may pass, with a new nonce, and never waited for without end',
    async (t) => {
      let requests = 0;
      const nonces = new Set<unknown>();
      const { env } = await inItsPlace(t, ({ headers }, response) => {
        nonces.add(headers['x-service-nonce']);
        requests += 1;
        if (requests === 1) response.destroy();
        else response.end(JSON.stringify(allowed));
      });
      const script = `
careful = Postern(os.environ["POSTERN_URL"], os.environ["POSTERN_KEY"], replay_protection=True, timeout=60)
show(careful.scan("GET", "https://api.example.org/").decision)`;
      t.equal(await shownBy(t, script, env), 'ALLOW');
      t.same([requests, nonces.size], [2, 2]);
      const slow = await inItsPlace(t, ({ url }, response) => {
        if (url?.startsWith('/drips')) {
          const timer = setInterval(() => response.write(' '), 20);
          response.once('close', () => clearInterval(timer));
        }
      });
      t.same(
        await shownBy(
          t,
          `
base, key = os.environ["POSTERN_URL"], os.environ["POSTERN_KEY"]
show([failed(lambda: Postern(base + at, key, timeout=0.4).scan("GET", "https://a.example/"))["code"] for at in ["/silent", "/drips"]])`,
          slow.env,
        ),
        ['GATEWAY_TIMEOUT', 'GATEWAY_TIMEOUT'],
      );
      t.same(slow.server.requests.length, 2);
      t.same(
        await shownBy(t, 'show(failed(lambda: gateway.scan("GET", "https://a.example/"))["code"])', {
          ...{ POSTERN_URL: 'http://127.0.0.1:9', POSTERN_KEY: key },
        }),
        'GATEWAY_UNREACHABLE',
      );
    },
  );

  t.test('a gateway that restarts while people decide is waited for, though not for ever', async (t) => {
    const approvalId = randomUUID();
    const state = (status: string) => JSON.stringify({ approval_id: approvalId, status, expires_at: 'x' });
    const steps = ['cut', 'cut', state('pending'), 'busy', state('approved')];
    const { env } = await inItsPlace(t, ({ url }, response) => {
      const step = url?.startsWith('/gone') ? 'busy' : (steps.shift() ?? 'busy');
      if (step === 'cut') response.destroy();
      else if (step === 'busy')
        response.writeHead(503, { 'retry-after': '0' }).end('{"code":"GATEWAY_BUSY"}');
      else response.end(step);
    });
    const script = `
gone = Postern(os.environ["POSTERN_URL"] + "/gone", os.environ["POSTERN_KEY"])
show([gateway.wait_for_approval("${approvalId}").status, failed(lambda: gone.wait_for_approval("${approvalId}"))["code"]])`;
    t.same(await shownBy(t, script, env), ['approved', 'GATEWAY_BUSY']);
  });

  t.test('options that cannot be meant are refused, without the key in what is said', async (t) => {
    const shown = await shownBy(
      t,
      `
key = os.environ["POSTERN_KEY"]
show([failed(it)["type"] for it in [
  lambda: Postern("gateway", key), lambda: Postern("file:///etc", key), lambda: Postern("http://a:b@c", key),
  lambda: Postern("http://a?x", key), lambda: Postern("http://a", ""), lambda: Postern("http://a", key + "\\r\\nx: y"),
  lambda: Postern("http://a", key, timeout=0), lambda: Postern("http://a", key, timeout=float("nan")),
  lambda: Postern("http://a", key, header_word="a b"), lambda: gateway.guard(on_approval="later"),
]] + [key in repr(gateway)])`,
      { POSTERN_URL: 'http://a', POSTERN_KEY: key },
    );
    t.same(shown, [...Array(10).fill('ValueError'), false]);
  });
}
