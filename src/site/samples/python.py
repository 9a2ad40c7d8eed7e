# Needs Python 3.8 or newer. Set API, CLIENT_ID, CLIENT_SECRET and SHORT_NAME.
import base64, json, os, sys
from urllib.error import HTTPError
from urllib.request import Request, urlopen

def call(path, authorization, method="GET"):
    url = f"{os.environ['API'].rstrip('/')}/api/v3/partners/{path}"
    headers = {"Authorization": authorization, "User-Agent": "investment-plans-sample"}
    try:
        return json.load(urlopen(Request(url, method=method, headers=headers), timeout=15))
    except HTTPError as error:
        sys.exit(f"{error.code}: {error.read(300).decode(errors='replace')}")
    except OSError as error:
        sys.exit(f"No response: {error}")

credentials = f"{os.environ['CLIENT_ID']}:{os.environ['CLIENT_SECRET']}".encode()
token = call("auth", "Basic " + base64.b64encode(credentials).decode(), "POST")["access_token"]
for plan in call(f"{os.environ['SHORT_NAME']}/plans", f"Bearer {token}")["data"]["plans"]:
    print(plan["identifier"], plan["coolName"], sep="\t")
