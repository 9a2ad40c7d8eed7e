# Needs Python 3.8 or newer. Set API, CLIENT_ID, CLIENT_SECRET and SHORT_NAME.
import base64
import json
import os
import sys
from urllib.error import HTTPError
from urllib.request import Request, urlopen


def call(path, authorization, method="GET"):
    url = f"{os.environ['API']}/api/v3/partners/{path}"
    try:
        request = Request(url, method=method, headers={"Authorization": authorization})
        with urlopen(request, timeout=15) as response:
            return json.load(response)
    except HTTPError as error:
        body = json.load(error)
        sys.exit(f"{error.code} {body['error']}: {body['message']} ({body['requestId']})")


credentials = f"{os.environ['CLIENT_ID']}:{os.environ['CLIENT_SECRET']}".encode()
token = call("auth", "Basic " + base64.b64encode(credentials).decode(), "POST")["access_token"]
for plan in call(f"{os.environ['SHORT_NAME']}/plans", f"Bearer {token}")["data"]["plans"]:
    print(plan["identifier"], plan["coolName"], sep="\t")
