# Needs Python 3.9 or newer, and investment_plans.py beside it. Set API, CLIENT_ID, CLIENT_SECRET and SHORT_NAME.
import json
import os
import sys
from datetime import datetime, timezone
from pathlib import Path
from investment_plans import InvestmentPlansClient

copy_file = Path(__file__).resolve().parent / "plans.json"
client = InvestmentPlansClient(
    os.environ["API"], os.environ["CLIENT_ID"], os.environ["CLIENT_SECRET"], os.environ["SHORT_NAME"]
)

copy = json.loads(copy_file.read_text("utf-8")) if copy_file.exists() else []
offered = {plan["identifier"]: plan for plan in copy if "removedAt" not in plan}
plans = client.list_plans()
listed = {plan["identifier"] for plan in plans}
gone = [identifier for identifier in offered if identifier not in listed]
if len(gone) > len(offered) / 2 and "--confirmed" not in sys.argv:
    sys.exit("More than half of the plans were removed. Ask support. Then run this again with --confirmed.")
for plan in plans:
    if plan["identifier"] not in offered:
        print("show", plan["identifier"])
    elif plan != offered[plan["identifier"]]:
        print("update", plan["identifier"])
for identifier in gone:
    print("stop offering", identifier)

# A plan that was removed earlier keeps its time. A plan that is listed again is no longer among the removed ones.
now = datetime.now(timezone.utc).isoformat()
removed = [{"removedAt": now, **plan} for plan in copy if plan["identifier"] not in listed]

# At the end, so that the next run repeats all changes of a run that fails.
draft = copy_file.with_suffix(".new")
draft.write_text(json.dumps([*plans, *removed]), "utf-8")
draft.replace(copy_file)
