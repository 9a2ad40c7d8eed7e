"""Tests the Python client as a service serves it: python3 test/checkers/python-client.py

The address of the service is in API, and the credentials of a partner are in CLIENT_ID, CLIENT_SECRET and SHORT_NAME.
All tests but the first answer with a server of their own.
"""

import contextlib
import gzip
import json
import os
import pickle
import sys
import threading
import time
import typing
import unittest
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import ModuleType
from unittest import mock

API = os.environ["API"]
ip = sys.modules["investment_plans"] = ModuleType("investment_plans")
with urllib.request.urlopen(f"{API}/client/investment_plans.py") as response:
    exec(response.read(), ip.__dict__)

PLANS = [{"identifier": "one"}]
TOKEN = (200, {}, json.dumps({"access_token": "a.b.c", "expires_in": 3600}))
LIST = (200, {"ETag": '"1"'}, json.dumps({"data": {"total": 1, "plans": PLANS}}))


def refuse(status, retry_after=None):
    headers = {"X-Request-Id": "r", **({} if retry_after is None else {"Retry-After": retry_after})}
    return (status, headers, json.dumps({"message": "x", "error": "y"}))


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        kind = "auth" if self.path.endswith("/auth") else "plans"
        self.server.requests.append(kind)
        self.server.last = self
        outcomes = self.server.outcomes.get(kind)
        outcome = outcomes.pop(0) if outcomes else {"auth": TOKEN, "plans": LIST}[kind]
        if callable(outcome):
            return outcome(self)
        status, headers, body = outcome
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body if isinstance(body, bytes) else body.encode())

    do_POST = do_GET

    def log_message(self, *_args):
        pass


class Clock:
    """Stands in for the module time: pauses pass at once."""

    def __init__(self):
        self.now = 1_000_000.0
        self.pauses = []

    def sleep(self, seconds):
        self.pauses.append(seconds)
        self.now += seconds

    def time(self):
        return self.now

    monotonic = time


class ClientTest(unittest.TestCase):
    def setUp(self):
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.requests = []
        self.server.outcomes = {}
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        self.options = {
            "base_url": f"http://127.0.0.1:{self.server.server_port}/",
            "client_id": "a",
            "client_secret": "b",
            "short_name": "ac/me",
        }

    def create_client(self, **options):
        return ip.InvestmentPlansClient(**{**self.options, **options})

    def use_clock(self):
        clock = Clock()
        patch = mock.patch.object(ip, "time", clock)
        patch.start()
        self.addCleanup(patch.stop)
        return clock

    def assert_fails(self, client, **expected):
        with self.assertRaises(ip.InvestmentPlansError) as caught:
            client.list_plans()
        self.assertEqual(expected, {name: getattr(caught.exception, name) for name in expected})
        return caught.exception

    def test_the_service(self):
        credentials = [os.environ[name] for name in ("CLIENT_ID", "CLIENT_SECRET", "SHORT_NAME")]
        client = ip.InvestmentPlansClient(API, *credentials)
        plans = client.list_plans()
        self.assertGreater(len(plans), 0)
        self.assertIs(client.list_plans(), plans)
        fund_type = plans[0]["fundType"]
        expected = [plan for plan in plans if plan["fundType"] == fund_type]
        self.assertEqual(client.list_plans({"fundType": fund_type}), expected)
        for plan in plans:
            self.assert_type(plan, ip.Plan)
        wrong = ip.InvestmentPlansClient(API, credentials[0], "wrong", credentials[2])
        error = self.assert_fails(wrong, status=401, code="invalid_client", retry_after_seconds=None)
        self.assertRegex(str(error), r"^invalid_client: .*\. \(status 401, request [0-9a-f-]{36}\)$")

    def assert_type(self, value, type_):
        kinds = typing.get_args(type_)
        if type(None) in kinds:
            if value is not None:
                self.assert_type(value, kinds[0])
        elif kinds:
            for key, item in value.items():
                self.assert_type(key, kinds[0])
                self.assert_type(item, kinds[1])
        elif hasattr(type_, "__annotations__"):
            fields = typing.get_type_hints(type_)
            self.assertEqual(list(value), list(fields))
            for name, field in fields.items():
                self.assert_type(value[name], field)
        else:
            self.assertIn(type(value), (int, float) if type_ is float else (type_,))

    def test_a_request_has_the_token_the_etag_the_filters_and_the_version(self):
        client = self.create_client()
        filter = {"fundType": "a&b=c", "currency": None}
        plans = client.list_plans(filter)
        self.assertEqual(plans, PLANS)
        self.assertIsNone(self.server.last.headers["If-None-Match"])
        self.server.outcomes["plans"] = [(304, {}, "")]
        self.assertIs(client.list_plans(filter), plans)
        last = self.server.last
        self.assertEqual(last.path, "/api/v3/partners/ac%2Fme/plans?fundType=a%26b%3Dc")
        names = ("Authorization", "If-None-Match", "User-Agent")
        agent = f"investment-plans-python/{ip.CLIENT_VERSION}"
        self.assertEqual([last.headers[name] for name in names], ["Bearer a.b.c", '"1"', agent])
        client.list_plans()
        self.assertIsNone(self.server.last.headers["If-None-Match"])
        self.assertEqual(self.server.requests, ["auth", "plans", "plans", "plans"])

    def test_logs_the_status_and_the_request_id_of_each_response(self):
        self.server.outcomes["plans"] = [refuse(403)]
        with self.assertLogs("investment_plans", "INFO") as logged:
            self.assert_fails(self.create_client(), status=403)
        messages = [record.getMessage() for record in logged.records]
        self.assertEqual(messages, ["200 /auth request None", "403 /ac%2Fme/plans request r"])

    def test_begins_with_the_list_that_an_earlier_process_kept_in_a_file(self):
        kept = json.loads(json.dumps(self.create_client().fetch_list()))
        self.assertEqual(kept, {"etag": '"1"', "plans": PLANS})
        self.server.outcomes["plans"] = [(304, {}, "")]
        client = self.create_client()
        self.assertIs(client.fetch_list({}, kept), kept)
        self.assertEqual(self.server.last.headers["If-None-Match"], '"1"')
        client.list_plans()
        self.assertEqual(self.server.last.headers["If-None-Match"], '"1"')
        # A list belongs to its filters.
        client.list_plans({"currency": "USD"})
        self.assertIsNone(self.server.last.headers["If-None-Match"])
        self.assertEqual(self.create_client().fetch_list({}, {"etag": '"0"', "plans": []}), kept)
        self.server.outcomes["plans"] = [(200, {}, LIST[2])]
        without = self.create_client().fetch_list({}, {"etag": None, "plans": []})
        self.assertEqual(without, {"etag": None, "plans": PLANS})
        self.assertIsNone(self.server.last.headers["If-None-Match"])

    def test_accepts_gzip(self):
        compressed = gzip.compress(LIST[2].encode())
        headers = {"Content-Encoding": "gzip", "ETag": 'W/"1"'}
        self.server.outcomes["plans"] = [(200, headers, compressed), (304, headers, "")]
        client = self.create_client(retry_delays_seconds=())
        for _ in range(2):
            self.assertEqual(client.list_plans(), PLANS)
        last = self.server.last.headers
        self.assertEqual([last["Accept-Encoding"], last["If-None-Match"]], ["gzip", 'W/"1"'])
        self.server.outcomes["plans"] = [(403, headers, gzip.compress(refuse(403)[2].encode()))]
        self.assert_fails(client, status=403, code="y", message="x")
        for broken in (compressed[:-9], b"x" + compressed, compressed[:12] + b"\xff" + compressed[13:]):
            self.server.outcomes["plans"] = [(200, headers, broken)]
            self.assert_fails(client, status=None, code="connection_failed")

    def test_keeps_the_lists_of_a_hundred_filters_at_most(self):
        client = self.create_client()
        for number in range(101):
            client.list_plans({"fundType": str(number)})
        client.list_plans({"fundType": "100"})
        self.assertEqual(self.server.last.headers["If-None-Match"], '"1"')
        client.list_plans({"fundType": "0"})
        self.assertIsNone(self.server.last.headers["If-None-Match"])

    def test_refuses_mistakes_before_any_request(self):
        for name in self.options:
            with self.assertRaisesRegex(ValueError, f"^{name} is empty\\.$"):
                self.create_client(**{name: ""})
            for space in (" ", "\n", "\r\n", "\u00a0"):
                message = f"^{name} contains white space, such as a line break at its end\\.$"
                with self.assertRaisesRegex(ValueError, message):
                    self.create_client(**{name: f"https://x{space}"})
        for address in ("catalog.example.com", "https://user:hunter2@catalog.example.com", "user:hunter2@x"):
            with self.assertRaisesRegex(ValueError, r"^base_url must be like https://catalog\.example\.com\.$"):
                self.create_client(base_url=address)
        filters = ", ".join(ip.PlanFilter.__annotations__)
        with self.assertRaisesRegex(ValueError, f"^There is no filter curency\\. The filters are {filters}\\.$"):
            self.create_client().list_plans({"curency": "KES"})
        self.assertEqual(self.server.requests, [])

    def test_renews_a_token_before_it_expires_and_after_a_401(self):
        clock = self.use_clock()
        client = self.create_client()
        client.list_plans()
        clock.now += 0.91 * 3600
        client.list_plans()
        self.server.outcomes["plans"] = [refuse(401)]
        client.list_plans()
        self.assertEqual(self.server.requests, ["auth", "plans"] * 2 + ["plans", "auth", "plans"])
        self.server.outcomes["plans"] = [refuse(401), refuse(401)]
        self.assert_fails(client, status=401)
        self.assertEqual(clock.pauses, [])

    def test_a_token_that_cannot_be_renewed_is_used_until_it_expires(self):
        clock = self.use_clock()
        client = self.create_client(retry_delays_seconds=())
        client.list_plans()
        start = clock.now
        self.server.outcomes["auth"] = [refuse(503)] * 5
        # Not at every request, but after a minute.
        for seconds, attempts in ((0.95 * 3600, 2), (0.95 * 3600 + 59, 2), (0.95 * 3600 + 61, 3), (3599, 4)):
            clock.now = start + seconds
            self.assertEqual(client.list_plans(), PLANS)
            self.assertEqual(self.server.requests.count("auth"), attempts)
        clock.now = start + 3600
        self.assert_fails(client, status=503)
        self.assertEqual(client._renew_at, start + 3600)

    def test_retries_come_after_1_5_and_30_seconds_and_end_with_the_error(self):
        clock = self.use_clock()
        self.server.outcomes["plans"] = [refuse(status) for status in (503, 500, 502, 504, 200)]
        self.assert_fails(self.create_client(), status=504, code="y", message="x", request_id="r")
        self.assertEqual(clock.pauses, [1, 5, 30])

    def test_retries_come_after_each_failure_that_can_pass(self):
        def cut(handler):
            handler.wfile.write(b'HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{"data":')

        def cut_chunk(handler):
            handler.wfile.write(b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n{"data":')

        def disconnect(_handler):
            pass

        for outcome in (
            *(cut, cut_chunk, disconnect, refuse(429), refuse(503)),
            *((200, {}, body) for body in ("<h1>Log in to this network</h1>", "{}", "null", '{"data": 1}')),
        ):
            clock = self.use_clock()
            self.server.outcomes = {"auth": [outcome], "plans": [outcome]}
            self.assertEqual(self.create_client().list_plans(), PLANS)
            self.assertEqual(clock.pauses, [1, 5])
        for kind, body in (
            ("plans", {"data": {"total": 2, "plans": PLANS}}),
            ("plans", {"data": {"plans": []}}),
            ("auth", {"access_token": "a.b.c", "expires_in": None}),
        ):
            clock = self.use_clock()
            self.server.outcomes = {kind: [(200, {}, json.dumps(body))]}
            self.assertEqual(self.create_client().list_plans(), PLANS)
            self.assertEqual(clock.pauses, [1])
        self.server.outcomes["plans"] = [(200, {}, "{}")]
        self.assert_fails(self.create_client(retry_delays_seconds=()), status=200, code="unknown", request_id=None)

    def test_retries_wait_for_retry_after_and_never_beyond_the_deadline(self):
        clock = self.use_clock()
        self.server.outcomes["plans"] = [refuse(503, "0"), refuse(503, "90"), refuse(503, "31")]
        self.assert_fails(self.create_client(), status=503, retry_after_seconds=31)
        self.assertEqual(clock.pauses, [1, 90])
        self.server.outcomes["plans"] = [refuse(429, "soon")]
        self.assert_fails(self.create_client(retry_delays_seconds=()), status=429, retry_after_seconds=None)

    def test_retries_never_come_after_another_4xx_or_a_redirect(self):
        clock = self.use_clock()
        client = self.create_client()
        for status in (302, *range(400, 500)):
            if status in (401, 429):
                continue
            self.server.outcomes["plans"] = [(status, {"Location": "/elsewhere/auth"}, "Moved")]
            message = f"The service answered with status {status}: Moved"
            self.assert_fails(client, status=status, code="unknown", message=message)
        self.assertEqual(self.server.requests.count("auth"), 1)
        self.assertEqual(clock.pauses, [])

    def test_a_request_ends_at_the_timeout_and_at_the_deadline(self):
        def drip(handler):
            handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n")
            with contextlib.suppress(OSError):
                for _ in range(100):
                    handler.wfile.write(b"x")
                    time.sleep(0.05)

        def hang(_handler):
            time.sleep(5)

        for outcome in (drip, hang):
            for name in ("timeout_seconds", "deadline_seconds"):
                self.server.outcomes["auth"] = [outcome]
                started = time.monotonic()
                client = self.create_client(**{name: 0.3}, retry_delays_seconds=())
                self.assert_fails(client, status=None, code="timeout", message="There was no complete response: timed out")
                self.assertLess(time.monotonic() - started, 3)

    def test_a_connection_that_fails_is_an_error_that_can_be_pickled(self):
        for address in ("http://127.0.0.1:1", "http://exa..mple"):
            client = self.create_client(base_url=address, retry_delays_seconds=())
            error = self.assert_fails(client, status=None, code="connection_failed", request_id=None)
            self.assertEqual(str(pickle.loads(pickle.dumps(error))), str(error))


if __name__ == "__main__":
    unittest.main()
