# Needs Python 3.9 or newer, and investment_plans.py beside it.
# Set API, CLIENT_ID, CLIENT_SECRET and SHORT_NAME.
import json
import logging
import os
import sys
from datetime import datetime, timezone
from pathlib import Path
from investment_plans import InvestmentPlansClient, InvestmentPlansError

# The client logs each response with its status and request ID.
form = {"format": "%(asctime)s %(message)s", "datefmt": "%Y-%m-%dT%H:%M:%S%z"}
logging.basicConfig(level=logging.INFO, **form)
copy_file = Path(__file__).resolve().parent / "plans.json"
variables = ("API", "CLIENT_ID", "CLIENT_SECRET", "SHORT_NAME")


def stop(reason):
    logging.error(reason)
    sys.exit(1)


# The list as the service sent it, with its ETag, and the plans that were removed from it.
try:
    copy = json.loads(copy_file.read_text("utf-8"))
except FileNotFoundError:
    copy = {"etag": None, "plans": [], "removed": []}
except ValueError:
    stop(f"{copy_file} is damaged. Restore it, or delete it to begin again.")

try:
    client = InvestmentPlansClient(*(os.environ.get(name, "") for name in variables))
    current_list = client.fetch_list({}, copy)
except (InvestmentPlansError, ValueError) as error:
    stop(error)

plans = current_list["plans"]
known_plans = {plan["identifier"]: plan for plan in copy["plans"]}
listed_identifiers = {plan["identifier"] for plan in plans}
newly_removed = [plan for plan in copy["plans"] if plan["identifier"] not in listed_identifiers]
if len(newly_removed) > len(known_plans) / 2 and "--confirmed" not in sys.argv:
    stop("More than half of the plans were removed. Ask support, then run this with --confirmed.")
for plan in plans:
    if plan["identifier"] not in known_plans:
        print("show", plan["identifier"])
    elif plan != known_plans[plan["identifier"]]:
        print("update", plan["identifier"])
for plan in newly_removed:
    print("stop offering", plan["identifier"])

# A plan that was removed earlier keeps the time of its removal. A plan that is listed again is no
# longer removed.
now = datetime.now(timezone.utc).isoformat()
removed = [plan for plan in copy["removed"] if plan["identifier"] not in listed_identifiers]
removed += [{**plan, "removedAt": now} for plan in newly_removed]

# The copy is saved at the end: if a run fails, the next run prints its changes again. The rename
# makes sure that the file is always complete.
draft = copy_file.with_suffix(".new")
after = {"etag": current_list["etag"], "plans": plans, "removed": removed}
draft.write_text(json.dumps(after), "utf-8")
draft.replace(copy_file)
