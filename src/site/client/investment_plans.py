"""Lists the investment plans of your country, and says what changed.

One file without dependencies, for Python 3.9 or newer: copy it into your project. Run it on a server only. On a
customer's device, your client secret would not stay secret.

    client = InvestmentPlansClient(base_url, client_id, client_secret, short_name, state_file="plans-state.json")
    plans = client.list_plans({"currency": "KES"})
"""

from __future__ import annotations

import base64
import contextlib
import email.utils
import http.client
import json
import os
import random
import socket
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, TypedDict

CLIENT_VERSION = "3.0.0"
"""This file last changed in this version. The history at /changes on the site of the service says what is new since your copy."""

# BEGIN GENERATED from the filters and the plan schema of the service


class PlanFilter(TypedDict, total=False):
    categoryId: int
    """Only plans whose `category.id` is this number."""
    fundType: str
    """Only plans whose `fundType` is exactly this text."""
    currency: str
    """Only plans whose base currency, `currency`, is this code, in upper or lower case."""


class PlanCategory(TypedDict):
    id: int
    """Internal ID, the value for the filter categoryId."""
    name: str
    """Formal name."""
    displayName: str
    """Name for your user interface."""
    tagLine: str
    """Short marketing tagline."""


class PlanType(TypedDict):
    id: int
    """Internal ID."""
    name: str
    """Name."""


class RiskLevel(TypedDict):
    id: int
    """Internal ID."""
    name: str
    """Name."""


class FundManager(TypedDict):
    id: int
    """Internal ID."""
    name: str
    """Name."""


class FundCurrency(TypedDict):
    currency: str
    """ISO 4217 currency code."""


class Plan(TypedDict):
    id: int
    """Internal plan ID."""
    identifier: str
    """Stable machine-readable identifier of the plan."""
    name: str
    """Formal plan name."""
    coolName: str
    """Short friendly display name. Prefer it in your user interface."""
    about: str
    """Longer description."""
    hint: str
    """Short marketing tagline."""
    imageUrl: str
    """URL of the artwork of the plan."""
    thumbnail: str
    """URL of the thumbnail of the artwork."""
    sector: str
    """Sector that the fund invests in."""
    fundType: str
    """Classification of the fund, such as MONEY_MARKET."""
    profitType: str
    """How returns are generated, such as VARIABLE."""
    profitTypeDescription: str
    """Text that explains profitType."""
    performance1: Optional[float]
    """Annualized return over 1 year in percent per year; null if unknown."""
    performance3: Optional[float]
    """Annualized return over 3 years in percent per year; null if unknown."""
    performance5: Optional[float]
    """Annualized return over 5 years in percent per year; null if unknown."""
    performance10: Optional[float]
    """Annualized return over 10 years in percent per year; null if unknown."""
    performanceDate: str
    """As-of date of the performance figures, as YYYY-MM-DD."""
    currency: str
    """Base currency of the plan, ISO 4217."""
    minInvestableAmounts: Dict[str, float]
    """Minimum initial investment in major units, keyed by ISO 4217 currency code."""
    minTopUpAmounts: Dict[str, float]
    """Minimum top-up in major units, keyed by ISO 4217 currency code."""
    tenor: str
    """Investment term."""
    lockInPeriod: int
    """Lock-in period in days; 0 means none."""
    partialWithdrawable: bool
    """Whether partial withdrawals are allowed."""
    factSheet: str
    """Link to an informational document."""
    prospectus: str
    """Link to a legal document."""
    isInvestable: bool
    """Whether the plan currently accepts new investment."""
    nonInvestableNote: Optional[str]
    """Why isInvestable is false; null if it is true."""
    category: Optional[PlanCategory]
    """Plan category."""
    planType: Optional[PlanType]
    """Plan type."""
    productRiskLevel: Optional[RiskLevel]
    """Risk rating."""
    fundManager: Optional[FundManager]
    """Company that manages the fund."""
    fundCurrency: Optional[FundCurrency]
    """Operating currency of the fund."""

# END GENERATED


class InvestmentPlansError(Exception):
    """A request failed. The message says why and how to fix it. Quote request_id when you contact support."""

    def __init__(
        self,
        message: str,
        code: str,
        status: Optional[int] = None,
        request_id: Optional[str] = None,
        retry_after_seconds: Optional[float] = None,
    ) -> None:
        self.message = message
        self.code = code
        """A stable code of the service, such as invalid_client; timeout or connection_failed when there was no complete
        response; unknown when the response did not come from the service."""
        self.status = status
        """The HTTP status; None when there was no complete response."""
        self.request_id = request_id
        self.retry_after_seconds = retry_after_seconds
        """Seconds to wait before the next attempt, when the service sent Retry-After."""
        super().__init__(message, code, status, request_id, retry_after_seconds)

    def __str__(self) -> str:
        if self.status is None:
            return f"{self.code}: {self.message}"
        return f"{self.status} {self.code}: {self.message} (request {self.request_id})"


@dataclass(frozen=True)
class PlanList:
    plans: List[Plan]
    is_unchanged: bool
    """The service said that this is the list of the request before. Your copy may differ from it: compare_plans says so."""


@dataclass(frozen=True)
class PlanChanges:
    """The difference between your copy and the list. Plans are matched by identifier."""

    plans: List[Plan]
    added: List[Plan]
    removed: List[Plan]
    """No longer to be offered. Customers who hold such a plan keep it."""
    changed: List[Tuple[Plan, Plan]]
    """Before and after."""
    removed_share: float
    """The removed plans, as a share of the list before: 1.0 if none of them is left. Get a person's approval before you remove many plans."""


USABLE_LIFETIME_SHARE = 0.9
"""Renews a token after this share of its lifetime, so that it does not expire while a request is on its way."""
RENEWAL_PAUSE_SECONDS = 30.0
"""The shortest pause after a token that couldn't be renewed, while the old one is valid."""
MAX_BACK_OFF_SECONDS = 15 * 60.0
"""The longest pause of watch_plans after failures."""
MAX_PAUSE_SECONDS = 24 * 3600.0
"""The longest timeout, and the longest pause of watch_plans that Retry-After can ask for."""
MAX_LISTS = 100
"""The client keeps at most this many lists with their ETags, one per set of filters."""
STATE_FORMAT = 2


class _Request(urllib.request.Request):
    """Another thread can end it."""

    _socket: Optional[socket.socket] = None
    _is_ended = False

    def start(self, connected: socket.socket) -> None:
        self._socket = connected
        if self._is_ended:
            self.end()

    def end(self) -> None:
        """Wakes the thread that reads from the socket."""
        self._is_ended = True
        if self._socket:
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)


class _Handler(urllib.request.AbstractHTTPHandler):
    """Gives each request its socket."""

    def do_open(self, http_class: Any, req: Any, **arguments: Any) -> Any:
        def connect(host: str, **options: Any) -> Any:
            def start(connected: socket.socket, *args: Any, **kwargs: Any) -> http.client.HTTPResponse:
                req.start(connected)
                return http.client.HTTPResponse(connected, *args, **kwargs)

            connection = http_class(host, **options)
            connection.response_class = start
            return connection

        return super().do_open(connect, req, **arguments)


class _HttpHandler(_Handler, urllib.request.HTTPHandler):
    pass


class _HttpsHandler(_Handler, urllib.request.HTTPSHandler):
    pass


class _RefuseRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect would send the credentials to another address."""

    def redirect_request(self, *_args: Any, **_kwargs: Any) -> None:
        return None


class InvestmentPlansClient:
    """For one thread.

    state_file keeps the token and the lists with their ETags between runs. Without it, each run needs a new token and downloads the
    list again. The file is readable by its owner only. timeout_seconds limits one request as a whole, and deadline_seconds a call, such
    as list_plans, with all its requests and pauses. retry_delays_seconds are the pauses before the first, second and third retry of a
    call; with an empty one, there are no retries.

    Raises ValueError when the address or a credential is empty, or when the address contains a password.
    """

    def __init__(
        self,
        base_url: str,
        client_id: str,
        client_secret: str,
        short_name: str,
        *,
        state_file: Optional[str] = None,
        timeout_seconds: float = 15.0,
        retry_delays_seconds: Sequence[float] = (1.0, 5.0, 30.0),
        deadline_seconds: float = 120.0,
    ) -> None:
        credentials = {"client_id": client_id, "client_secret": client_secret, "short_name": short_name}
        for name, value in {"base_url": base_url, **credentials}.items():
            if not value:
                raise ValueError(f"{name} is empty.")
        # The errors of urllib would show the password.
        if "@" in base_url:
            raise ValueError("base_url must not contain @, such as after a password.")
        if not base_url.startswith(("https://", "http://")):
            raise ValueError(f"base_url must start with https://, not {base_url}")
        self._base_url = base_url.rstrip("/")
        self._client_id = client_id
        self._client_secret = client_secret
        self._short_name = short_name
        self._state_file = state_file
        self._timeout_seconds = timeout_seconds
        self._retry_delays_seconds = retry_delays_seconds
        self._deadline_seconds = deadline_seconds
        self._token: Optional[str] = None
        self._renew_at = 0.0
        self._expires_at = 0.0
        self._lists: Dict[str, Dict[str, Any]] = {}
        self._opener = urllib.request.build_opener(_RefuseRedirects, _HttpHandler, _HttpsHandler)
        self._load()

    def list_plans(self, filter: PlanFilter = {}) -> List[Plan]:
        """Returns the plans that match all filters, in ascending order of id. Don't modify them: the client keeps them.

        Retries when there is no response, after 429 and after 5xx, while the deadline allows it. Raises InvestmentPlansError when
        the service refuses the request or can't be reached, and ValueError for an unknown filter, which the service would ignore.
        """
        return self.fetch_plans(filter).plans

    def fetch_plans(self, filter: PlanFilter = {}) -> PlanList:
        """Like list_plans, and says whether the list is the one of the request before."""
        query = _format_query(filter)
        end = time.monotonic() + self._deadline_seconds
        delays = iter(self._retry_delays_seconds)
        while True:
            try:
                return self._attempt(query, end)
            except InvestmentPlansError as error:
                delay = next(delays, None)
                if delay is None or not _is_transient(error):
                    raise
                pause = max(delay, error.retry_after_seconds or 0.0)
                if time.monotonic() + pause >= end:
                    raise
            time.sleep(pause)

    def watch_plans(
        self,
        filter: PlanFilter = {},
        *,
        copy: Sequence[Plan] = (),
        interval_seconds: float = 60.0,
        on_error: Optional[Callable[[Exception], None]] = None,
    ) -> Iterator[PlanChanges]:
        """Polls, and yields each difference: at first the one to your copy, then the one to the list of the loop before.

        After a restart, pass your copy again. Waits longer after failures, as long as Retry-After says. Raises
        InvestmentPlansError when a further attempt would be refused, too, such as after wrong credentials.
        """
        failures = 0
        while True:
            wait = interval_seconds
            try:
                result = self.fetch_plans(filter)
                failures = 0
                changes = compare_plans(copy, result.plans)
                if changes.added or changes.removed or changes.changed:
                    yield changes
                    copy = result.plans
            except (InvestmentPlansError, OSError) as error:
                if _is_permanent(error):
                    raise
                if on_error:
                    on_error(error)
                failures += 1
                retry_after = getattr(error, "retry_after_seconds", None) or 0.0
                back_off = min(interval_seconds * 2 ** min(failures, 20), MAX_BACK_OFF_SECONDS)
                wait = max(back_off, min(retry_after, MAX_PAUSE_SECONDS), interval_seconds)
            # Up to a fifth longer, so that clients spread.
            time.sleep(wait * random.uniform(1.0, 1.2))

    def _attempt(self, query: str, end: float) -> PlanList:
        token = self._get_token(end)
        try:
            return self._request_plans(query, token, end)
        except InvestmentPlansError as error:
            if error.status != 401:
                raise
        # The token may have expired, or its signing key may be gone. Try once with a new token.
        self._token = None
        return self._request_plans(query, self._get_token(end), end)

    def _request_plans(self, query: str, token: str, end: float) -> PlanList:
        known = self._lists.get(query)
        headers = {"Authorization": f"Bearer {token}"}
        if known:
            headers["If-None-Match"] = known["etag"]
        path = f"/{urllib.parse.quote(self._short_name, safe='')}/plans" + (f"?{query}" if query else "")
        status, answer_headers, body = self._send("GET", path, headers, end)
        if status == 304 and known:
            return PlanList(known["plans"], True)
        data = body.get("data") if isinstance(body, dict) else None
        plans = data.get("plans") if isinstance(data, dict) else None
        if not isinstance(plans, list):
            raise _create_foreign_error(status, answer_headers)
        etag = answer_headers.get("ETag")
        if etag:
            self._lists.pop(query, None)
            self._lists[query] = {"etag": etag, "plans": plans}
            if len(self._lists) > MAX_LISTS:
                del self._lists[next(iter(self._lists))]
            self._save()
        return PlanList(plans, known is not None and known["etag"] == etag)

    def _get_token(self, end: float) -> str:
        """A token that can't be renewed just now is used until it expires."""
        if self._token and time.time() < self._renew_at:
            return self._token
        try:
            return self._request_token(end)
        except InvestmentPlansError as error:
            if not self._token or time.time() >= self._expires_at or not _is_transient(error):
                raise
            pause = max(RENEWAL_PAUSE_SECONDS, error.retry_after_seconds or 0.0)
            self._renew_at = min(time.time() + pause, self._expires_at)
            return self._token

    def _request_token(self, end: float) -> str:
        credentials = base64.b64encode(f"{self._client_id}:{self._client_secret}".encode()).decode()
        requested_at = time.time()
        status, headers, body = self._send("POST", "/auth", {"Authorization": f"Basic {credentials}"}, end)
        fields = body if isinstance(body, dict) else {}
        token, lifetime = fields.get("access_token"), fields.get("expires_in")
        if not isinstance(token, str) or not isinstance(lifetime, (int, float)):
            raise _create_foreign_error(status, headers)
        self._token = token
        self._renew_at = requested_at + USABLE_LIFETIME_SHARE * lifetime
        self._expires_at = requested_at + lifetime
        self._save()
        return token

    def _send(self, method: str, path: str, headers: Dict[str, str], end: float) -> Tuple[int, Mapping[str, str], Any]:
        """Returns a response with a status of 2xx or 304: status, headers, and body as JSON."""
        request = _Request(
            f"{self._base_url}/api/v3/partners{path}",
            method=method,
            headers={"User-Agent": f"investment-plans-python/{CLIENT_VERSION}", **headers},
        )
        limit = max(0.0, min(self._timeout_seconds, end - time.monotonic(), MAX_PAUSE_SECONDS))
        # urllib's own timeout starts again with each byte, and doesn't cover DNS.
        answer: Future[Tuple[int, Mapping[str, str], bytes]] = Future()

        def exchange() -> None:
            try:
                try:
                    # This timeout ends a thread that nobody waits for any more, if it is not connected yet.
                    response: Any = self._opener.open(request, timeout=limit + 1)
                except urllib.error.HTTPError as error:
                    response = error
                with response:
                    result = response.status, response.headers, response.read()
                answer.set_result(result)
            except BaseException as error:
                answer.set_exception(error)

        threading.Thread(target=exchange, daemon=True).start()
        try:
            status, answer_headers, data = answer.result(limit)
        except FutureTimeoutError:
            request.end()
            raise InvestmentPlansError(f"There was no complete response within {limit:g} seconds.", "timeout") from None
        # UnicodeError: the address has a host name that can't exist.
        except (OSError, http.client.HTTPException, UnicodeError) as error:
            reason = getattr(error, "reason", error)
            raise InvestmentPlansError(f"There was no complete response: {reason}", "connection_failed") from error
        body = _parse_json(data)
        if 200 <= status < 300 or status == 304:
            return status, answer_headers, body
        if body is None:
            text = data[:100].decode(errors="replace")
            body = {"message": f"The service answered with status {status}, and no JSON: {text}"}
        raise _create_error(status, body, answer_headers)

    def _load(self) -> None:
        """State of other credentials, or something else, counts as none."""
        if self._state_file is None or not os.path.exists(self._state_file):
            return
        with open(self._state_file, "rb") as file:
            state = _parse_json(file.read())
        if not isinstance(state, dict) or state.get("format") != STATE_FORMAT:
            return
        if state.get("client") != [self._base_url, self._client_id]:
            return
        token, renew_at, expires_at, lists = (state.get(name) for name in ("token", "renew_at", "expires_at", "lists"))
        if isinstance(token, str) and isinstance(renew_at, (int, float)) and isinstance(expires_at, (int, float)):
            self._token, self._renew_at, self._expires_at = token, renew_at, expires_at
        if isinstance(lists, dict):
            self._lists = {query: known for query, known in lists.items() if _is_list(known)}

    def _save(self) -> None:
        """Replaces the file at once, so that a crash leaves the old one. mkstemp makes it readable by its owner only."""
        if self._state_file is None:
            return
        state = {
            "format": STATE_FORMAT,
            "client": [self._base_url, self._client_id],
            "token": self._token,
            "renew_at": self._renew_at,
            "expires_at": self._expires_at,
            "lists": self._lists,
        }
        folder = os.path.dirname(os.path.abspath(self._state_file))
        handle, draft = tempfile.mkstemp(dir=folder)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(state, file)
            os.replace(draft, self._state_file)
        except BaseException:
            os.unlink(draft)
            raise


def compare_plans(before: Sequence[Plan], after: Sequence[Plan]) -> PlanChanges:
    """The difference between the plans that you have and the plans of the list."""
    old = {plan["identifier"]: plan for plan in before}
    identifiers = {plan["identifier"] for plan in after}
    removed = [plan for plan in before if plan["identifier"] not in identifiers]
    return PlanChanges(
        plans=list(after),
        added=[plan for plan in after if plan["identifier"] not in old],
        removed=removed,
        changed=[
            (old[plan["identifier"]], plan)
            for plan in after
            if plan["identifier"] in old and old[plan["identifier"]] != plan
        ],
        removed_share=len(removed) / len(before) if before else 0.0,
    )


def _is_list(known: Any) -> bool:
    return isinstance(known, dict) and isinstance(known.get("etag"), str) and isinstance(known.get("plans"), list)


def _is_transient(error: InvestmentPlansError) -> bool:
    """Whether the same request can succeed a little later."""
    return error.status is None or error.status == 429 or error.status >= 500


def _is_permanent(error: Exception) -> bool:
    """Whether the service would refuse the same request again: every 4xx but a timeout and the rate limit."""
    if not isinstance(error, InvestmentPlansError) or error.status is None:
        return False
    return 400 <= error.status < 500 and error.status not in (408, 429)


def _format_query(filter: PlanFilter) -> str:
    """Sorts the filters, so that equal filters share one stored list."""
    names = PlanFilter.__annotations__
    for name in filter:
        if name not in names:
            raise ValueError(f"There is no filter {name}. The filters are {', '.join(names)}.")
    return urllib.parse.urlencode(sorted((name, value) for name, value in filter.items() if value is not None))


def _create_error(status: int, body: Any, headers: Mapping[str, str]) -> InvestmentPlansError:
    known = body if isinstance(body, dict) else {}
    return InvestmentPlansError(
        known.get("message") or f"The service answered with status {status}.",
        known.get("error") or "unknown",
        status,
        known.get("requestId") or headers.get("X-Request-Id"),
        _parse_retry_after(headers.get("Retry-After") or ""),
    )


def _parse_retry_after(value: str) -> Optional[float]:
    """Takes seconds, or a date (RFC 9110, section 10.2.3)."""
    if value.isascii() and value.isdigit():
        return float(value)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    except (TypeError, ValueError, IndexError, OverflowError):
        return None


def _create_foreign_error(status: int, headers: Mapping[str, str]) -> InvestmentPlansError:
    """A proxy may answer instead of the service, with any status and body."""
    return _create_error(status, {"message": "The response did not come from the service."}, headers)


def _parse_json(data: bytes) -> Any:
    try:
        return json.loads(data)
    except ValueError:
        return None
