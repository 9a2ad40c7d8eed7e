# Needs Python 3.8 or newer. Set API, CLIENT_ID, CLIENT_SECRET and SHORT_NAME.
import base64
import json
import os
import sys
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
    with response:
        text = response.read().decode(errors="replace")
    try:
        body = json.loads(text)
    except ValueError:
        sys.exit(f"{response.code}, and no JSON: {text[:100]}")
    if response.code != 200:
        sys.exit(f"{response.code} {body.get('error')}: {body.get('message')} ({body.get('requestId')})")
    return body


credentials = f"{os.environ['CLIENT_ID']}:{os.environ['CLIENT_SECRET']}".encode()
token = call("auth", "Basic " + base64.b64encode(credentials).decode(), "POST")["access_token"]
for plan in call(f"{os.environ['SHORT_NAME']}/plans", f"Bearer {token}")["data"]["plans"]:
    print(plan["identifier"], plan["coolName"], sep="\t")
