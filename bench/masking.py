"""How masking the view of a plan grows with the plan.

    python -m bench.masking [--times N] [--output json]

Each object of the plan holds two secrets of its own, a password and a key, beside names and tags.
The same is done with a tenth of the objects, in turn. The times are processor time, so that a busy
neighbour hardly matters. Exit status 1 means that the goal was missed.
"""

import argparse
import json
import secrets
import sys
import time

from activities.plans.view import render_view
from activities.secrets.masking import Mask
from activities.terraform.plan_json import read_changes
from bench.report import Report, as_json
from bench.running import exit_status, parser_of

OBJECTS = 3_000
FEWER = OBJECTS // 10
AGAINST_FEWER_GOAL = 15.0
"""Ten, if the work grows as the plan does; a hundred, if each object looks for each secret."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--times", type=int, default=5, help="how often (default: %(default)s)")


def measure(settings: argparse.Namespace) -> Report:
    pairs = [(_seconds(FEWER), _seconds(OBJECTS)) for _ in range(settings.times)]
    report = Report(f"Reading a plan, and rendering its view without {2 * OBJECTS} secrets")
    few = report.median(f"of {FEWER} objects", [fewer for fewer, _ in pairs], "s")
    many = report.median(f"of {OBJECTS} objects", [more for _, more in pairs], "s")
    report.ratio("ten times as many objects", many, few, AGAINST_FEWER_GOAL)
    return report


def _seconds(objects: int) -> float:
    plan = json.dumps({"resource_changes": [_object(number) for number in range(objects)]}).encode()
    began = time.process_time()
    render_view("component", "apply", read_changes(plan), Mask.of([]))
    return time.process_time() - began


def _object(number: int) -> dict[str, object]:
    after = {
        "id": f"object-{number}",
        "name": f"the name of {number}",
        "password": secrets.token_urlsafe(24),
        "private_key": secrets.token_urlsafe(300),
        "tags": {"team": "x", "stage": "live"},
    }
    change = {
        "actions": ["create"],
        "after": after,
        "after_sensitive": {"password": True, "private_key": True},
    }
    return {"address": f"module.one.thing.each[{number}]", "change": change}


def main() -> None:
    parser = parser_of("bench.masking", __doc__)
    add_arguments(parser)
    settings = parser.parse_args()
    report = measure(settings)
    print(as_json([report]) if settings.output == "json" else report.as_text())
    sys.exit(exit_status([report]))


if __name__ == "__main__":
    main()
