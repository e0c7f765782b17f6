"""A client of the Postern gateway for agents: one file, standard library only, Python 3.9 or newer.

    from postern import Postern, PosternDenied

    gateway = Postern("http://127.0.0.1:8081", key)
    result = gateway.scan("POST", "https://api.example.com/things", body={"n": 1})
    with gateway.guarded_urlopen("https://api.example.com/things") as answer:
        ...

Whatever fails raises a `PosternError` whose `code` says what; none of its fields has the key. After a failure on the way to the gateway,
or of the gateway itself (5xx), it asks once more. Times are seconds.
"""

from __future__ import annotations

import base64
import email.utils
import http.client
import json
import random
import re
import secrets
import socket
import ssl
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, TypedDict, Union, cast

__all__ = [
    "ApprovalResult",
    "EphemeralKey",
    "FieldError",
    "Finding",
    "Postern",
    "PosternApprovalRequired",
    "PosternDenied",
    "PosternError",
    "ResponseScanResult",
    "ScanResult",
    "Signal",
]

Headers = Mapping[str, Union[str, Sequence[str]]]
Fields = Dict[str, Any]


class FieldError(TypedDict):
    """A field of a request that is not valid, and why."""

    path: str
    message: str


class Signal(TypedDict):
    """A sign of risk that a call has shown."""

    engine: str
    name: str
    score: float
    details: str


Finding = TypedDict("Finding", {"class": str, "kind": str, "location": str, "confidence": str})


@dataclass(frozen=True)
class ScanResult:
    """The decision on a call, and why."""

    #: ALLOW, DENY, SANITIZE or REQUIRE_APPROVAL.
    decision: str
    #: Risk from 0 to 1.
    risk_score: float
    #: LOW, MEDIUM, HIGH or CRITICAL.
    risk_band: str
    #: Codes of the reasons, the deciding one first.
    reason_codes: List[str]
    trace_id: str
    tool_name: str
    operation: str
    classifications: List[str]
    signals: List[Signal] = field(default_factory=list)
    #: The body to send instead, on SANITIZE. It has the type of the body that was described.
    sanitized_body: Any = None
    #: The approval to wait for, on REQUIRE_APPROVAL.
    approval_id: Optional[str] = None
    policy_id: Optional[str] = None
    policy_name: Optional[str] = None
    #: The decision that would have stood, in monitor mode.
    would_be: Optional[str] = None
    #: Ways in which the call leaves the scope of an ephemeral key.
    violations: List[str] = field(default_factory=list)
    findings: List[Finding] = field(default_factory=list)
    matched_rules: List[Fields] = field(default_factory=list)
    tags: List[str] = field(default_factory=list)
    #: Sentences that say why.
    explanation: List[str] = field(default_factory=list)


@dataclass(frozen=True)
class ResponseScanResult:
    """What was found in an answer of an upstream."""

    data_classes: List[str]
    fields_redacted_count: int
    #: A fingerprint that is equal for equal content.
    content_fingerprint: str
    #: Tells whether the content gives orders to the agent that reads it.
    injection_detected: bool
    injection_score: float
    trace_id: Optional[str] = None


@dataclass(frozen=True)
class ApprovalResult:
    """The outcome of an approval."""

    approval_id: str
    #: pending, approved, denied or expired.
    status: str
    expires_at: str
    decided_at: Optional[str] = None
    #: A text that the analyst has written.
    note: Optional[str] = None


@dataclass(frozen=True)
class EphemeralKey:
    """A key that ends by itself."""

    #: The key itself, which is shown only here, and in no `repr`.
    key: str = field(repr=False)
    key_id: str
    prefix: str
    expires_at: str
    max_uses: Optional[int]


class PosternError(Exception):
    """Says what failed in this module. `code` is one of the gateway's (`RATE_LIMITED`, `INVALID_KEY`, …), or of this side:
    GATEWAY_UNREACHABLE, GATEWAY_TIMEOUT, INVALID_ANSWER, HTTP_ERROR, BODY_TOO_LARGE, UNSUPPORTED_REQUEST, TOO_MANY_REDIRECTS,
    REDIRECT_REFUSED."""

    def __init__(
        self,
        code: str,
        detail: str,
        *,
        status: Optional[int] = None,
        trace_id: Optional[str] = None,
        retry_after: Optional[float] = None,
        errors: Sequence[FieldError] = (),
        actual_bytes: Optional[int] = None,
        limit_bytes: Optional[int] = None,
    ) -> None:
        super().__init__(f"{code}: {detail}")
        self.code = code
        self.detail = detail
        self.status = status
        self.trace_id = trace_id
        self.retry_after = retry_after
        self.errors = list(errors)
        self.actual_bytes = actual_bytes
        self.limit_bytes = limit_bytes


class PosternDenied(PosternError):
    """Says that a guarded call may not be made, by policy or by an analyst. Nothing of it was sent."""

    def __init__(self, result: ScanResult, approval: Optional[ApprovalResult] = None) -> None:
        note = approval.note if approval else None
        detail = note or (result.explanation or ["The call is denied."])[0]
        super().__init__("POLICY_DENIED", detail, trace_id=result.trace_id)
        self.reason_codes = result.reason_codes
        self.explanation = result.explanation
        self.approval_id = approval.approval_id if approval else None
        self.note = note


class PosternApprovalRequired(PosternError):
    """Says that nobody has approved a guarded call: not yet (`pending`), or not in time (`expired`). Nothing of it was sent."""

    def __init__(self, result: ScanResult, approval_status: str) -> None:
        detail = (result.explanation or ["The call needs an approval."])[0]
        super().__init__("APPROVAL_REQUIRED", detail, trace_id=result.trace_id)
        self.approval_id = result.approval_id
        self.approval_status = approval_status
        self.reason_codes = result.reason_codes
        self.explanation = result.explanation


_TIMEOUT_MAX = 3600.0
_ANSWER_BYTES_MAX = 1 << 24
_ITEMS_MAX = 10_000
_DETAIL_LENGTH_MAX = 2000
_ERRORS_MAX = 100
# Without Retry-After, the second attempt comes after this time and up to as much again, so that clients that failed together come apart.
_RETRY_SECONDS = 0.1
# The gateway takes a body and 64 KB more. A text whose escapes add more than this is sent in base64.
_ESCAPES_MAX = 32_768
_POLL_SECONDS_MAX = 30
_GRACE_SECONDS = 10.0
_REST_SECONDS = 0.25
_FAILURES_MAX = 6
_FAILURE_REST_MAX = 8.0
# An identical call may use an approval first, and this one then needs another.
_APPROVALS_MAX = 3
_REDIRECTS_MAX = 10

_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_DECISIONS = ("ALLOW", "DENY", "SANITIZE", "REQUIRE_APPROVAL")
_BANDS = ("LOW", "MEDIUM", "HIGH", "CRITICAL")
_STATES = ("pending", "approved", "denied", "expired")


class Postern:
    """A gateway, as an agent uses it. Threads may share it, and there is nothing to close."""

    def __init__(
        self,
        url: str,
        key: str,
        *,
        timeout: float = 10.0,
        retry_after_max: float = 5.0,
        replay_protection: bool = False,
        header_word: str = "Service",
        ssl_context: Optional[ssl.SSLContext] = None,
        agent_id: Optional[str] = None,
        agent_name: Optional[str] = None,
        runtime_type: Optional[str] = None,
        context: Optional[str] = None,
        env: Optional[str] = None,
    ) -> None:
        """`url` is that of the control plane. `timeout` holds for an answer, the second attempt included. A gateway that asks to wait
        longer than `retry_after_max` is not asked a second time. `replay_protection` sends time and nonce with each request, as keys
        with `require_nonce` need it. The last five say who makes the calls, where the key does not."""
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc or parts.query or parts.fragment:
            raise ValueError("url must be that of the gateway: http or https, without user, query or fragment")
        # The key is checked here, since http.client would quote it in what it says of a header that is not valid.
        if not re.fullmatch(r"[\x21-\x7e]{1,512}", key):
            raise ValueError("key must be an API key")
        if not re.fullmatch(r"[A-Za-z0-9-]{1,64}", header_word):
            raise ValueError("header_word must be a word of a header name")
        self._scheme, self._host, self._port = parts.scheme, parts.hostname, parts.port
        self._prefix = parts.path.rstrip("/")
        self._key = key
        self._timeout = _within("timeout", timeout, _TIMEOUT_MAX)
        self._retry_after_max = retry_after_max
        self._replay_protection = replay_protection
        self._header_word = header_word
        self._ssl_context = ssl_context
        self._caller = _caller_fields(agent_id, agent_name, runtime_type, context, env)

    def __repr__(self) -> str:
        return f"Postern({self._scheme}://{self._host})"

    def scan(
        self,
        method: str,
        url: str,
        *,
        body: Any = None,
        headers: Optional[Headers] = None,
        agent_id: Optional[str] = None,
        agent_name: Optional[str] = None,
        runtime_type: Optional[str] = None,
        context: Optional[str] = None,
        env: Optional[str] = None,
    ) -> ScanResult:
        """Returns the decision on an intended call. `body` is a text, bytes, or any value that JSON has. Nothing is sent but to the gateway."""
        described, to_sanitized = _describe_body(body, headers)
        request = {"method": method, "url": url, **described, **self._caller}
        request.update(_caller_fields(agent_id, agent_name, runtime_type, context, env))
        if headers is not None:
            request["headers"] = dict(headers)
        return _to_scan_result(self._ask("POST", "/v1/scan", request), to_sanitized)

    def scan_response(
        self,
        *,
        trace_id: Optional[str] = None,
        response_body: Any = None,
        response_status: Optional[int] = None,
        headers: Optional[Headers] = None,
    ) -> ResponseScanResult:
        """Classifies what an upstream has answered, and keeps it with the trace of the call, where one is named."""
        described, _ = _describe_body(response_body, None)
        request: Fields = {"response_body": described.pop("body", None), **described}
        for name, value in (("trace_id", trace_id), ("response_status", response_status), ("headers", headers)):
            if value is not None:
                request[name] = value
        return _to_response_scan_result(self._ask("POST", "/v1/scan/response", request))

    def mint_ephemeral_key(
        self,
        *,
        ttl_seconds: Optional[int] = None,
        max_uses: Optional[int] = None,
        tools: Optional[Sequence[str]] = None,
        verbs: Optional[Sequence[str]] = None,
        description: Optional[str] = None,
    ) -> EphemeralKey:
        """Returns a key that ends by itself, after `ttl_seconds` (default 600) or `max_uses`. For `tools` and `verbs`, absent means all
        and empty none."""
        scope = {name: list(value) for name, value in (("tools", tools), ("verbs", verbs)) if value is not None}
        request = {"ttl_seconds": ttl_seconds, "max_uses": max_uses, "scope": scope or None, "description": description}
        return _to_ephemeral_key(self._ask("POST", "/v1/keys/ephemeral", request))

    def wait_for_approval(self, approval_id: str, *, timeout: float = 600.0) -> ApprovalResult:
        """Returns when the approval is decided or expired, or with `pending` when `timeout` is over. A gateway that is slow to answer
        then is waited for ten seconds more, and no longer."""
        if not _is_uuid(approval_id):
            raise ValueError("approval_id must be a UUID")
        ends_at = time.monotonic() + _within("timeout", timeout, 24 * _TIMEOUT_MAX, least=0.0)
        failures = 0
        while True:
            left = max(0.0, ends_at - time.monotonic())
            # Only whole seconds can be asked for. A rest below one second is slept, and then the approval is looked at once more.
            poll = min(_POLL_SECONDS_MAX, int(left))
            rests = min(_REST_SECONDS, left)
            try:
                found = self._look(approval_id, poll)
                if found.status != "pending" or time.monotonic() >= ends_at:
                    return found
                failures = 0
            except PosternError as error:
                failures += 1
                if not _may_pass(error) or failures >= _FAILURES_MAX or time.monotonic() >= ends_at:
                    raise
                asked = error.retry_after if error.retry_after is not None else _REST_SECONDS * 2**failures
                rests = min(asked, _FAILURE_REST_MAX, max(0.0, ends_at - time.monotonic()))
            time.sleep(rests)

    def guarded_urlopen(
        self,
        url: Union[str, urllib.request.Request],
        data: Any = None,
        timeout: Optional[float] = None,
    ) -> Any:
        """Opens a URL as `urllib.request.urlopen` does, after asking the gateway; see `guard`."""
        return self.guard()(url, data, timeout)

    def guard(
        self,
        *,
        on_approval: str = "wait",
        approval_timeout: float = 600.0,
        body_bytes_max: int = 262_144,
        ssl_context: Optional[ssl.SSLContext] = None,
        proxies: Optional[Dict[str, str]] = None,
        agent_id: Optional[str] = None,
        agent_name: Optional[str] = None,
        runtime_type: Optional[str] = None,
        context: Optional[str] = None,
        env: Optional[str] = None,
    ) -> Callable[..., Any]:
        """Returns an `urlopen(url, data=None, timeout=None)` that asks the gateway before each request, those that redirects lead to
        included. It sends what was judged, byte for byte, once. It raises `PosternDenied` where the call may not be made, and
        `PosternApprovalRequired` where nobody approves it in time (`on_approval="wait"`) or at once (`"raise"`). Whatever goes wrong
        before a request, the gateway being away included, ends in an error and nothing is sent."""
        if on_approval not in ("wait", "raise"):
            raise ValueError('on_approval must be "wait" or "raise"')
        caller = _caller_fields(agent_id, agent_name, runtime_type, context, env)
        waits = _within("approval_timeout", approval_timeout, 24 * _TIMEOUT_MAX) if on_approval == "wait" else 0.0
        handlers: List[urllib.request.BaseHandler] = [_NoRedirects(), urllib.request.ProxyHandler(proxies)]
        if ssl_context is not None:
            handlers.append(urllib.request.HTTPSHandler(context=ssl_context))
        opener = urllib.request.build_opener(*handlers)

        def guarded_urlopen(
            url: Union[str, urllib.request.Request],
            data: Any = None,
            timeout: Optional[float] = None,
        ) -> Any:
            call, own_timeout = _take_call(url, data, body_bytes_max)
            for _ in range(_REDIRECTS_MAX + 1):
                call = self._judge(call, caller, waits)
                answer = _send(opener, call, own_timeout if timeout is None else timeout)
                if not isinstance(answer, _Call):
                    return answer
                call = answer
            raise PosternError("TOO_MANY_REDIRECTS", f"A guarded call is led on {_REDIRECTS_MAX} times.")

        return guarded_urlopen

    def _look(self, approval_id: str, poll: int) -> ApprovalResult:
        path = f"/v1/approvals/{approval_id}/" + (f"wait?timeout={poll}" if poll else "status")
        return _to_approval_result(self._ask("GET", path, timeout=poll + _GRACE_SECONDS), approval_id)

    def _judge(self, call: _Call, caller: Fields, waits: float) -> _Call:
        """Returns the call as it may be sent. Raises where it may not."""
        ends_at = time.monotonic() + waits
        for approvals in range(1, _APPROVALS_MAX + 1):
            headers = {name: _to_described(value) for name, value in call.headers.items()}
            result = self.scan(call.method, call.url, body=call.body, headers=headers, **caller)
            if result.decision == "ALLOW":
                return call
            if result.decision == "SANITIZE":
                return _with_sanitized_body(call, result.sanitized_body)
            if result.decision == "DENY":
                raise PosternDenied(result)
            left = ends_at - time.monotonic()
            if left <= 0 or approvals == _APPROVALS_MAX:
                break
            approval = self.wait_for_approval(result.approval_id or "", timeout=left)
            if approval.status == "denied":
                raise PosternDenied(result, approval)
            if approval.status != "approved":
                raise PosternApprovalRequired(result, approval.status)
        raise PosternApprovalRequired(result, "pending")

    def _ask(self, method: str, path: str, request: Optional[Fields] = None, timeout: Optional[float] = None) -> Any:
        """Returns the JSON of the answer. After a failure that may be over soon, it asks once more."""
        seconds = self._timeout if timeout is None else timeout
        ends_at = time.monotonic() + seconds
        body = None
        if request is not None:
            body = json.dumps(request, ensure_ascii=False, allow_nan=False).encode("utf-8")
        try:
            return self._attempt(method, path, body, ends_at, seconds)
        except PosternError as error:
            wait = _wait_before_retry(error)
            if wait is None or wait > self._retry_after_max or time.monotonic() + wait >= ends_at:
                raise
            time.sleep(wait)
        return self._attempt(method, path, body, ends_at, seconds)

    def _attempt(self, method: str, path: str, body: Optional[bytes], ends_at: float, seconds: float) -> Any:
        left = max(0.001, ends_at - time.monotonic())
        connection = self._connect(left)
        # The timeout of a socket begins anew with every byte; this one does not.
        late = threading.Event()
        timer = threading.Timer(left, _cut, (connection, late))
        timer.daemon = True
        timer.start()
        try:
            connection.connect()
            # A timer that ran out while nothing was connected had nothing to end.
            if late.is_set():
                raise http.client.IncompleteRead(b"")
            connection.request(method, self._prefix + path, body, self._headers(method, body))
            answer = connection.getresponse()
            content = answer.read(_ANSWER_BYTES_MAX + 1)
            if late.is_set():
                raise http.client.IncompleteRead(b"")
        except (OSError, http.client.HTTPException, ValueError) as error:
            # Only the name of the failure is told: the parser of HTTP quotes what it did not understand, which may be the request with its key.
            name = type(error).__name__
            if late.is_set() or isinstance(error, socket.timeout):
                raise PosternError("GATEWAY_TIMEOUT", f"The gateway has not answered within {seconds:g} s.") from None
            raise PosternError("GATEWAY_UNREACHABLE", f"The gateway cannot be reached ({name}).") from None
        finally:
            timer.cancel()
            connection.close()
        return self._read_answer(answer, content)

    def _connect(self, seconds: float) -> http.client.HTTPConnection:
        # http.client follows no redirect and knows no proxy: the key goes to the gateway and nowhere else.
        if self._scheme == "http":
            return http.client.HTTPConnection(self._host, self._port, timeout=seconds)
        context = self._ssl_context or ssl.create_default_context()
        return http.client.HTTPSConnection(self._host, self._port, timeout=seconds, context=context)

    def _headers(self, method: str, body: Optional[bytes]) -> Dict[str, str]:
        headers = {"Authorization": f"Bearer {self._key}", "Accept": "application/json"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        # These are new for each attempt, since a request that failed has used up its nonce.
        if self._replay_protection and method == "POST":
            headers[f"X-{self._header_word}-Timestamp"] = str(int(time.time()))
            headers[f"X-{self._header_word}-Nonce"] = secrets.token_hex(16)
        return headers

    def _read_answer(self, answer: http.client.HTTPResponse, content: bytes) -> Any:
        status = answer.status
        if 300 <= status < 400:
            raise PosternError("INVALID_ANSWER", "The address of the gateway leads elsewhere.", status=status)
        is_whole = len(content) <= _ANSWER_BYTES_MAX
        if not 200 <= status < 300:
            said = _parse(content, self._key) if is_whole else None
            raise _to_problem(status, said, _read_retry_after(answer.getheader("Retry-After")))
        if not is_whole:
            raise PosternError("INVALID_ANSWER", f"The answer has more than {_ANSWER_BYTES_MAX} bytes.", status=status)
        value = _parse(content, self._key)
        if value is None:
            raise PosternError("INVALID_ANSWER", "What answers at the address of the gateway is not JSON.", status=status)
        return value


def _cut(connection: http.client.HTTPConnection, late: threading.Event) -> None:
    """Ends whatever the connection waits for."""
    late.set()
    sock = cast(Optional[socket.socket], connection.sock)
    if sock is not None:
        try:
            sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            # The connection has ended by itself.
            pass


def _within(name: str, value: float, most: float, *, least: float = 0.001) -> float:
    if not least <= value <= most:
        raise ValueError(f"{name} must be from {least:g} to {most:g}")
    return float(value)


def _caller_fields(
    agent_id: Optional[str],
    agent_name: Optional[str],
    runtime_type: Optional[str],
    context: Optional[str],
    env: Optional[str],
) -> Fields:
    fields = {"agent_id": agent_id, "agent_name": agent_name, "runtime_type": runtime_type, "context": context, "env": env}
    return {name: value for name, value in fields.items() if value is not None}


# Failures, and whether to ask again.


def _is_passing(error: PosternError) -> bool:
    return error.code == "GATEWAY_UNREACHABLE" or (error.status or 0) >= 500


def _may_pass(error: PosternError) -> bool:
    """Tells whether a failure may be over soon. That holds also where many wait with one key, since a place becomes free."""
    return _is_passing(error) or error.code in ("RATE_LIMITED", "GATEWAY_TIMEOUT")


def _wait_before_retry(error: PosternError) -> Optional[float]:
    """Returns the seconds before asking again; None where that would not help, or is not wanted."""
    if not _is_passing(error):
        return None
    return error.retry_after if error.retry_after is not None else _RETRY_SECONDS * (1 + random.random())


def _read_retry_after(value: Optional[str]) -> Optional[float]:
    """Returns `Retry-After`, seconds or a date (RFC 9110, 10.2.3), in seconds; None where it is neither."""
    if value is None:
        return None
    if re.fullmatch(r"[0-9]{1,9}", value):
        return float(value)
    try:
        at = email.utils.parsedate_to_datetime(value).timestamp()
    except (TypeError, ValueError, IndexError, OverflowError):
        # A text that is neither asks for nothing.
        return None
    return max(0.0, at - time.time())


# Answers of the gateway, checked field by field. An answer that is not as promised counts as none, so that nothing is sent on its word.


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _parse(content: bytes, key: str) -> Any:
    """Returns the value of a JSON text, without the key; None where it is none, or nested too deep. The parser's message would quote the
    text."""
    try:
        return _without(key, json.loads(content.decode("utf-8"), parse_constant=_refuse_constant))
    except (ValueError, RecursionError):
        return None


def _without(key: str, value: Any) -> Any:
    """Returns a value without the key. An answer may repeat the key, also escaped, and errors are shown to many."""
    if isinstance(value, str):
        return value.replace(key, "[key]")
    if isinstance(value, list):
        return [_without(key, it) for it in value]
    if isinstance(value, dict):
        return {name: _without(key, it) for name, it in value.items()}
    return value


def _wrong(name: str) -> PosternError:
    return PosternError("INVALID_ANSWER", f"The gateway's answer has no valid {name}.")


def _to_fields(value: Any, name: str = "object") -> Fields:
    if not isinstance(value, dict):
        raise _wrong(name)
    return value


def _check(fields: Fields, name: str, is_right: Callable[[Any], bool]) -> Any:
    value = fields.get(name)
    if not is_right(value):
        raise _wrong(name)
    return value


def _maybe(fields: Fields, name: str, is_right: Callable[[Any], bool], absent: Any = None) -> Any:
    return _check(fields, name, is_right) if name in fields else absent


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_text_or_none(value: Any) -> bool:
    return value is None or isinstance(value, str)


def _is_uuid(value: Any) -> bool:
    return isinstance(value, str) and _UUID.fullmatch(value) is not None


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_score(value: Any) -> bool:
    return _is_number(value) and 0 <= value <= 1


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool)


def _is_list(value: Any) -> bool:
    return isinstance(value, list) and len(value) <= _ITEMS_MAX


def _is_texts(value: Any) -> bool:
    return _is_list(value) and all(isinstance(it, str) for it in value)


def _is_one_of(those: Sequence[str]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, str) and value in those


def _to_items(fields: Fields, name: str, texts: Sequence[str], numbers: Sequence[str] = ()) -> List[Any]:
    items = _maybe(fields, name, _is_list, [])
    for it in items:
        _to_fields(it, name)
        for text in texts:
            _check(it, text, _is_text)
        for number in numbers:
            _check(it, number, _is_number)
    return cast(List[Any], items)


def _to_scan_result(answer: Any, to_sanitized: Callable[[Any], Any]) -> ScanResult:
    it = _to_fields(answer)
    decision = _check(it, "decision", _is_one_of(_DECISIONS))
    is_held = decision == "REQUIRE_APPROVAL"
    return ScanResult(
        decision=decision,
        risk_score=_check(it, "risk_score", _is_score),
        risk_band=_check(it, "risk_band", _is_one_of(_BANDS)),
        reason_codes=_check(it, "reason_codes", _is_texts),
        trace_id=_check(it, "trace_id", _is_uuid),
        tool_name=_check(it, "tool_name", _is_text),
        operation=_check(it, "operation", _is_text),
        classifications=_check(it, "classifications", _is_texts),
        signals=_to_items(it, "signals", ("engine", "name", "details"), ("score",)),
        sanitized_body=to_sanitized(it["sanitized_body"]) if "sanitized_body" in it else None,
        approval_id=(_check if is_held else _maybe)(it, "approval_id", _is_uuid),
        policy_id=_maybe(it, "policy_id", _is_text),
        policy_name=_maybe(it, "policy_name", _is_text),
        would_be=_maybe(it, "would_be", _is_one_of(_DECISIONS)),
        violations=_maybe(it, "violations", _is_texts, []),
        findings=_to_items(it, "findings", ("class", "kind", "location", "confidence")),
        matched_rules=_to_items(it, "matched_rules", ()),
        tags=_maybe(it, "tags", _is_texts, []),
        explanation=_maybe(it, "explanation", _is_texts, []),
    )


def _to_response_scan_result(answer: Any) -> ResponseScanResult:
    it = _to_fields(answer)
    injection = _to_fields(it.get("injection"), "injection")
    return ResponseScanResult(
        data_classes=_check(it, "data_classes", _is_texts),
        fields_redacted_count=_check(it, "fields_redacted_count", _is_count),
        content_fingerprint=_check(it, "content_fingerprint", _is_text),
        injection_detected=_check(injection, "detected", _is_bool),
        injection_score=_check(injection, "score", _is_score),
        trace_id=_maybe(it, "trace_id", _is_uuid),
    )


def _to_approval_result(answer: Any, approval_id: str) -> ApprovalResult:
    """Returns what became of the approval. Raises for an answer about another one."""
    it = _to_fields(answer)
    if str(_check(it, "approval_id", _is_uuid)).lower() != approval_id.lower():
        raise _wrong("approval_id")
    return ApprovalResult(
        approval_id=approval_id,
        status=_check(it, "status", _is_one_of(_STATES)),
        expires_at=_check(it, "expires_at", _is_text),
        decided_at=_maybe(it, "decided_at", _is_text_or_none),
        note=_maybe(it, "note", _is_text_or_none),
    )


def _to_ephemeral_key(answer: Any) -> EphemeralKey:
    it = _to_fields(answer)
    return EphemeralKey(
        key=_check(it, "key", _is_text),
        key_id=_check(it, "key_id", _is_uuid),
        prefix=_check(it, "prefix", _is_text),
        expires_at=_check(it, "expires_at", _is_text),
        max_uses=None if it.get("max_uses") is None else _check(it, "max_uses", _is_count),
    )


def _to_problem(status: int, answer: Any, retry_after: Optional[float]) -> PosternError:
    """Returns the error for a failure. Of an answer that is no problem of a gateway only the status counts."""
    it: Fields = answer if isinstance(answer, dict) else {}
    code, detail = it.get("code"), it.get("detail")
    is_problem = isinstance(code, str) and re.fullmatch(r"[A-Z0-9_]{1,64}", code) is not None
    if not is_problem:
        code, detail = "HTTP_ERROR", f"The gateway's address answers {status}."
    return PosternError(
        str(code),
        detail[:_DETAIL_LENGTH_MAX] if isinstance(detail, str) else "",
        status=status,
        trace_id=it["trace_id"] if _is_uuid(it.get("trace_id")) else None,
        retry_after=retry_after,
        errors=_to_field_errors(it.get("errors")),
        actual_bytes=it["actual_bytes"] if _is_count(it.get("actual_bytes")) else None,
        limit_bytes=it["limit_bytes"] if _is_count(it.get("limit_bytes")) else None,
    )


def _to_field_errors(value: Any) -> List[FieldError]:
    errors: List[FieldError] = []
    for it in value[:_ERRORS_MAX] if isinstance(value, list) else []:
        path, message = (it.get("path"), it.get("message")) if isinstance(it, dict) else (None, None)
        if isinstance(path, str) and isinstance(message, str):
            errors.append({"path": path[:_DETAIL_LENGTH_MAX], "message": message[:_DETAIL_LENGTH_MAX]})
    return errors


# Descriptions for the gateway.


def _describe_body(body: Any, headers: Optional[Headers]) -> Tuple[Fields, Callable[[Any], Any]]:
    """Describes a body, and returns how the sanitized body is read. Bytes become text where they are just that, else base64, so that the
    gateway reads the very bytes that are sent. Any other value stays as it is."""
    if body is None:
        return {}, lambda value: value
    if not isinstance(body, (bytes, bytearray, memoryview)):
        return {"body": body}, lambda value: value
    content = bytes(body)
    if not content:
        return {}, _from_text
    text = None if _is_coded(headers) else _to_text(content)
    if text is not None and len(json.dumps(text, ensure_ascii=False).encode("utf-8")) <= len(content) + _ESCAPES_MAX:
        return {"body": text}, _from_text
    return {"body": base64.b64encode(content).decode("ascii"), "body_encoding": "base64"}, _from_base64


def _is_coded(headers: Optional[Headers]) -> bool:
    """Tells whether headers name a coding. Such bytes go as base64, since codings count for bytes alone, and text is taken as it stands."""
    return any(name.lower() in ("content-encoding", "x-amz-content-sha256") for name in headers or ())


def _to_text(content: bytes) -> Optional[str]:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        # These bytes are no text, which is the answer.
        return None


def _from_text(value: Any) -> bytes:
    if not isinstance(value, str):
        raise _wrong("sanitized_body")
    try:
        return value.encode("utf-8")
    except UnicodeEncodeError:
        raise _wrong("sanitized_body") from None


def _from_base64(value: Any) -> bytes:
    try:
        return base64.b64decode(value if isinstance(value, str) else "?", validate=True)
    except ValueError:
        raise _wrong("sanitized_body") from None


def _to_described(value: str) -> str:
    """Returns a header as the text whose UTF-8 is what is sent, as the gateway takes it."""
    try:
        return value.encode("latin-1").decode("utf-8")
    except UnicodeError:
        raise _unsupported("A header of a guarded call is neither ASCII nor UTF-8.") from None


# Calls that a guard sends.


@dataclass(frozen=True)
class _Call:
    """A call as it will be sent. All of it is read once, before the gateway is asked, so that later changes make no other call of it."""

    method: str
    url: str
    headers: Dict[str, str]
    body: Optional[bytes]


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Follows no redirect, since an allowed address could lead to one that was not judged."""

    def http_error_302(self, req: Any, fp: Any, code: Any, msg: Any, headers: Any) -> None:
        return None

    http_error_301 = http_error_303 = http_error_307 = http_error_308 = http_error_302


# Matches only URLs that all readers read alike, without user or backslash; the next one finds dot segments, in whatever spelling.
_URL = re.compile(
    r"https?://(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*)|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?(?:[/?][A-Za-z0-9\-._~:/?\[\]@!$&'()*+,;=%]*)?"
)
_DOT_SEGMENT = re.compile(r"/(?:\.|%2[eE]){1,2}(?:[/?]|$)")
_FIELDS_OF_BODY = re.compile(
    r"content-(?:length|encoding|md5|digest)|digest|repr-digest|signature|signature-input"
    r"|x-amz-(?:content-sha256|decoded-content-length|sdk-checksum-algorithm|trailer|checksum-.+)",
    re.IGNORECASE,
)
_FIELDS_OF_CONTENT = ("content-encoding", "content-language", "content-location", "content-type", "content-length")
_FIELDS_OF_ORIGIN = ("authorization", "proxy-authorization", "cookie", "host")


def _unsupported(detail: str) -> PosternError:
    return PosternError("UNSUPPORTED_REQUEST", detail)


def _to_target(url: str) -> str:
    """Returns a URL without its fragment, which is never sent. Raises for one that readers could read differently."""
    target = url.split("#", 1)[0]
    path = target.split("?", 1)[0]
    if not _URL.fullmatch(target) or _DOT_SEGMENT.search(path):
        raise _unsupported("A guarded call needs an absolute URL of http or https, encoded, without user and dot segments.")
    return target


def _take_call(url: Union[str, urllib.request.Request], data: Any, bytes_max: int) -> Tuple[_Call, Optional[float]]:
    request = url if isinstance(url, urllib.request.Request) else urllib.request.Request(url)
    body = _read_body(request.data if data is None else data, bytes_max)
    method = request.get_method()
    # urllib sends POST as well where only `data` says that there is a body.
    if body is not None and data is not None and getattr(request, "method", None) is None:
        method = "POST"
    target = _to_target(request.full_url)
    _check_host(target, request.get_header("Host"))
    # urllib writes these itself, for the body that is sent.
    dropped = ("content-length", "transfer-encoding", "host")
    headers = {name: value for name, value in request.header_items() if name.lower() not in dropped}
    if body is not None and not any(name.lower() == "content-type" for name in headers):
        # urllib would add it, behind the back of the gateway.
        headers["Content-type"] = "application/x-www-form-urlencoded"
    timeout = getattr(request, "timeout", None)
    own_timeout = float(timeout) if isinstance(timeout, (int, float)) else None
    return _Call(method, target, headers, body), own_timeout


def _check_host(url: str, host: Optional[str]) -> None:
    """Raises for a `Host` other than the URL's. It would reach another place than the one that is judged."""
    if host is not None and host.lower() != urllib.parse.urlsplit(url).netloc.lower():
        raise _unsupported("The Host of a guarded call must be that of its URL.")


def _read_body(data: Any, bytes_max: int) -> Optional[bytes]:
    if data is None:
        return None
    if isinstance(data, str):
        raise TypeError("data must be bytes, a file of bytes, or an iterable of bytes")
    content = bytearray()
    if isinstance(data, (bytes, bytearray, memoryview)):
        content += data
    elif hasattr(data, "read"):
        while len(content) <= bytes_max:
            part = data.read(min(65_536, bytes_max + 1 - len(content)))
            if not part:
                break
            content += part
    else:
        for part in data:
            content += part
            if len(content) > bytes_max:
                break
    if len(content) > bytes_max:
        raise PosternError("BODY_TOO_LARGE", f"The body of a guarded call may have {bytes_max} bytes.", limit_bytes=bytes_max)
    return bytes(content)


def _with_sanitized_body(call: _Call, sanitized: Optional[bytes]) -> _Call:
    if sanitized is None and call.body:
        raise _wrong("sanitized_body")
    if sanitized is None or sanitized == (call.body or b""):
        return call
    # Headers that say something of the body as it was would be wrong of another one.
    headers = {name: value for name, value in call.headers.items() if not _FIELDS_OF_BODY.fullmatch(name)}
    return _Call(call.method, call.url, headers, sanitized)


def _send(opener: urllib.request.OpenerDirector, call: _Call, timeout: Optional[float]) -> Any:
    """Returns the answer to a call, or the call that it leads to."""
    request = urllib.request.Request(call.url, data=call.body, headers=call.headers, method=call.method)
    try:
        return opener.open(request) if timeout is None else opener.open(request, timeout=timeout)
    except urllib.error.HTTPError as error:
        following = _next_call(call, error.code, error.headers.get("Location"))
        if following is None:
            raise
        error.close()
        return following


def _next_call(call: _Call, status: int, location: Optional[str]) -> Optional[_Call]:
    """Returns the call that a redirect leads to, by the rules of fetch (HTTP-redirect fetch); None where there is none."""
    if status not in (301, 302, 303, 307, 308) or location is None:
        return None
    try:
        url = _to_target(urllib.parse.urljoin(call.url, location))
    except (PosternError, ValueError) as error:
        raise PosternError("REDIRECT_REFUSED", "The answer leads to no address that a call may go to.") from error
    is_get = call.method in ("GET", "HEAD")
    becomes_get = not is_get if status == 303 else status in (301, 302) and call.method == "POST"
    dropped: Tuple[str, ...] = _FIELDS_OF_CONTENT if becomes_get else ()
    if _origin(url) != _origin(call.url):
        dropped += _FIELDS_OF_ORIGIN
    headers = {name: value for name, value in call.headers.items() if name.lower() not in dropped}
    return _Call("GET" if becomes_get else call.method, url, headers, None if becomes_get else call.body)


def _origin(url: str) -> Tuple[str, Optional[str], int]:
    parts = urllib.parse.urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or (443 if parts.scheme == "https" else 80)
