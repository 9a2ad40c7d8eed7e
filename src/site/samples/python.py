# Needs Python 3.8 or newer. Set API, CLIENT_ID, CLIENT_SECRET and SHORT_NAME.
import base64
import json
import os
import sys
from http.client import IncompleteRead
from urllib.error import HTTPError
from urllib.request import Request, urlopen


def call(path, authorization, method="GET"):
    url = f"{os.environ['API']}/api/v3/partners/{path}"
    # Without a User-Agent of its own, the request can be refused with "error code: 1010".
    headers = {"Authorization": authorization, "User-Agent": "investment-plans-sample"}
    try:
        response = urlopen(Request(url, method=method, headers=headers), timeout=15)
    except HTTPError as error:
        response = error
    try:
        text = response.read()
    except IncompleteRead as error:
        text = error.partial
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        body = None
    if response.code != 200 or not isinstance(body, dict):
        sys.exit(f"{response.code}: {text[:300].decode(errors='replace')}")
    return body


credentials = f"{os.environ['CLIENT_ID']}:{os.environ['CLIENT_SECRET']}".encode()
token = call("auth", "Basic " + base64.b64encode(credentials).decode(), "POST")["access_token"]
for plan in call(f"{os.environ['SHORT_NAME']}/plans", f"Bearer {token}")["data"]["plans"]:
    print(plan["identifier"], plan["coolName"], sep="\t")
