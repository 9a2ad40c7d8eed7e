"""Lists the investment plans of your country.

One file without dependencies, for Python 3.9 or newer: copy it into your project. Run it on a server only. On a
customer's device, your client secret would not stay secret.

    client = InvestmentPlansClient(base_url, client_id, client_secret, short_name)
    plans = client.list_plans({"currency": "KES"})
"""

from __future__ import annotations

import base64
import gzip
import http.client
import json
import logging
import re
import socket
import time
import urllib.error
import urllib.parse
import urllib.request
import zlib
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, TypedDict

from plan_types import Plan, PlanFilter

CLIENT_VERSION = "3.0.0"
"""Later versions are listed on the site of the service, at /changes#history."""
USABLE_LIFETIME_SHARE = 0.9
"""Renews a token after this share of its lifetime, so that it does not expire while a request is on its way."""
RENEWAL_PAUSE_SECONDS = 60.0
"""The time to wait after a failed renewal, while the old token is valid."""
MAX_LISTS = 100
"""The client keeps the last list of each set of filters. It forgets all lists when it has this many."""
_LOG = logging.getLogger("investment_plans")
FOREIGN_RESPONSE = "The response did not come from the service, or is incomplete."


class ListWithEtag(TypedDict):
    """A list as the service sent it. Save it in a file, and pass it to fetch_list in another process."""

    etag: Optional[str]
    """None if the response had no ETag, for example because a proxy removed it."""
    plans: List[Plan]


class InvestmentPlansError(Exception):
    """A request failed. The message says why. Quote request_id when you contact support."""

    def __init__(
        self, message: str, code: str, status: Optional[int] = None, headers: Optional[Mapping[str, str]] = None
    ) -> None:
        super().__init__(message, code, status, headers)
        self.message = message
        self.code = code
        """A code of the service, such as invalid_client; timeout or connection_failed without a complete response; or unknown."""
        self.status = status
        """The HTTP status; None when there was no complete response."""
        self.request_id = headers.get("X-Request-Id") if headers else None
        retry_after = headers.get("Retry-After", "") if headers else ""
        self.retry_after_seconds = float(retry_after) if re.fullmatch("[0-9]+", retry_after) else None
        """Seconds to wait before the next attempt, when the service sent Retry-After."""

    def __str__(self) -> str:
        text = f"{self.code}: {self.message}"
        return f"{text} (status {self.status}, request {self.request_id})" if self.status else text


class _RefuseRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect would send the credentials to another address. Without a new request, urllib raises an HTTPError."""

    def redirect_request(self, *_args: Any, **_kwargs: Any) -> None:
        return None


class InvestmentPlansClient:
    """Not for use by several threads.

    timeout_seconds limits each wait for the server, and the time until the whole response is there. deadline_seconds
    limits a call of list_plans or fetch_list, with all its retries. retry_delays_seconds are the seconds to wait before
    the first, the second and the third retry; an empty sequence means no retry.

    Raises ValueError for a wrong address or credential, such as an environment variable that is empty.
    """

    def __init__(
        self,
        base_url: str,
        client_id: str,
        client_secret: str,
        short_name: str,
        *,
        timeout_seconds: float = 15.0,
        retry_delays_seconds: Sequence[float] = (1.0, 5.0, 30.0),
        deadline_seconds: float = 120.0,
    ) -> None:
        credentials = {"client_id": client_id, "client_secret": client_secret, "short_name": short_name}
        for name, value in {"base_url": base_url, **credentials}.items():
            if not value:
                raise ValueError(f"{name} is empty.")
            if re.search(r"\s", value):
                raise ValueError(f"{name} contains white space, such as a line break at its end.")
        # Also refuses a password in the address, which the errors of urllib would show.
        if not re.fullmatch("https?://[^@]+", base_url):
            raise ValueError("base_url must be like https://catalog.example.com.")
        self._base_url = base_url.rstrip("/")
        self._basic = base64.b64encode(f"{client_id}:{client_secret}".encode()).decode()
        self._short_name = short_name
        self._timeout_seconds = timeout_seconds
        self._retry_delays_seconds = retry_delays_seconds
        self._deadline_seconds = deadline_seconds
        self._token: Optional[str] = None
        self._renew_at = 0.0
        self._expires_at = 0.0
        self._lists: Dict[str, ListWithEtag] = {}
        self._opener = urllib.request.build_opener(_RefuseRedirects)

    def list_plans(self, filter: PlanFilter = {}) -> List[Plan]:
        """Returns the plans that match all filters, in ascending order of id. Don't modify them: the client keeps them.

        Every call asks the service, which sends the list only if it has changed. Raises InvestmentPlansError when the service
        refuses the request, or fails until the last retry or the deadline, and ValueError for an unknown filter.
        """
        return self.fetch_list(filter)["plans"]

    def fetch_list(self, filter: PlanFilter = {}, saved_list: Optional[ListWithEtag] = None) -> ListWithEtag:
        """Lists plans as list_plans does, with the ETag. Returns saved_list, a list with the same filters, if it has not changed."""
        query = _format_query(filter)
        if saved_list:
            self._store_list(query, saved_list)
        end = time.monotonic() + self._deadline_seconds
        delays = iter(self._retry_delays_seconds)
        while True:
            try:
                return self._request_and_renew_token(query, end)
            except InvestmentPlansError as error:
                delay = next(delays, None)
                if delay is None or not _is_transient(error):
                    raise
                pause = max(delay, error.retry_after_seconds or 0.0)
                if time.monotonic() + pause >= end:
                    raise
            time.sleep(pause)

    def _request_and_renew_token(self, query: str, end: float) -> ListWithEtag:
        token = self._get_token(end)
        try:
            return self._request_plans(query, token, end)
        except InvestmentPlansError as error:
            if error.status != 401:
                raise
        # The service ended the token early.
        self._token = None
        return self._request_plans(query, self._get_token(end), end)

    def _request_plans(self, query: str, token: str, end: float) -> ListWithEtag:
        stored_list = self._lists.get(query)
        headers = {"Authorization": f"Bearer {token}"}
        if stored_list and stored_list["etag"]:
            headers["If-None-Match"] = stored_list["etag"]
        path = f"/{urllib.parse.quote(self._short_name, safe='')}/plans{query}"
        status, answer_headers, body = self._send("GET", path, headers, end)
        if status == 304 and stored_list:
            return stored_list
        data = _read(body, "data")
        plans = _read(data, "plans")
        if not isinstance(plans, list) or len(plans) != _read(data, "total"):
            raise InvestmentPlansError(FOREIGN_RESPONSE, "unknown", status, answer_headers)
        return self._store_list(query, {"etag": answer_headers.get("ETag"), "plans": plans})

    def _store_list(self, query: str, plan_list: ListWithEtag) -> ListWithEtag:
        if len(self._lists) >= MAX_LISTS:
            self._lists.clear()
        self._lists[query] = plan_list
        return plan_list

    def _get_token(self, end: float) -> str:
        """Returns a valid token. If renewal fails temporarily, the old token is used until it expires."""
        if self._token and time.time() < self._renew_at:
            return self._token
        try:
            return self._request_token(end)
        except InvestmentPlansError as error:
            if not self._token or time.time() >= self._expires_at or not _is_transient(error):
                raise
            self._renew_at = min(time.time() + RENEWAL_PAUSE_SECONDS, self._expires_at)
            return self._token

    def _request_token(self, end: float) -> str:
        requested_at = time.time()
        status, headers, body = self._send("POST", "/auth", {"Authorization": f"Basic {self._basic}"}, end)
        token, lifetime = _read(body, "access_token"), _read(body, "expires_in")
        if not isinstance(token, str) or not isinstance(lifetime, (int, float)):
            raise InvestmentPlansError(FOREIGN_RESPONSE, "unknown", status, headers)
        self._token = token
        self._renew_at = requested_at + USABLE_LIFETIME_SHARE * lifetime
        self._expires_at = requested_at + lifetime
        return token

    def _send(self, method: str, path: str, headers: Dict[str, str], end: float) -> Tuple[int, Mapping[str, str], Any]:
        """Returns a response with a status of 2xx or 304: status, headers, and body as JSON, None for another body."""
        headers = {"User-Agent": f"investment-plans-python/{CLIENT_VERSION}", "Accept-Encoding": "gzip", **headers}
        request = urllib.request.Request(f"{self._base_url}/api/v3/partners{path}", method=method, headers=headers)
        end = min(end, time.monotonic() + self._timeout_seconds)
        text = bytearray()
        try:
            try:
                response: Any = self._opener.open(request, timeout=max(0.001, end - time.monotonic()))
            except urllib.error.HTTPError as error:
                response = error
            with response:
                _LOG.info("%s %s request %s", response.status, path, response.headers.get("X-Request-Id"))
                # urllib's own timeout starts again with each part of the body.
                while part := response.read1(65536):
                    text += part
                    if time.monotonic() >= end:
                        raise socket.timeout("timed out")
                content = gzip.decompress(text) if response.headers.get("Content-Encoding") == "gzip" else text
        except (OSError, http.client.HTTPException, UnicodeError, EOFError, zlib.error) as error:
            reason = getattr(error, "reason", error)
            code = "timeout" if isinstance(reason, socket.timeout) else "connection_failed"
            raise InvestmentPlansError(f"There was no complete response: {reason}", code) from error
        try:
            body = json.loads(content)
        except ValueError:
            body = None
        if 200 <= response.status < 300 or response.status == 304:
            return response.status, response.headers, body
        start = content[:100].decode(errors="replace")
        message = _read(body, "message") or f"The service answered with status {response.status}: {start}"
        raise InvestmentPlansError(message, _read(body, "error") or "unknown", response.status, response.headers)


def _is_transient(error: InvestmentPlansError) -> bool:
    """Tells if the same request can succeed later: there was no response of the service, or its status is 429 or 5xx."""
    return error.status is None or error.status < 300 or error.status == 429 or error.status >= 500


def _format_query(filter: PlanFilter) -> str:
    names = PlanFilter.__annotations__
    for name in filter:
        if name not in names:
            raise ValueError(f"There is no filter {name}. The filters are {', '.join(names)}.")
    query = urllib.parse.urlencode([(name, value) for name, value in filter.items() if value is not None])
    return f"?{query}" if query else ""


def _read(body: Any, name: str) -> Any:
    return body.get(name) if isinstance(body, dict) else None
