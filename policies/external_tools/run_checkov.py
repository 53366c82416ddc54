"""Asks checkov about Terraform plans and Kubernetes manifests. Checkov's own Python runs it: it imports nothing else.

usage: run_checkov.py PLAN.json|MANIFESTS.yaml ...

It prints {path: {"passed": [[check, address]], "failed": [...], "seconds": 0.2}} as JSON. The first file also pays for
checkov's start; each further one is a run in the same process.
"""

import json
import logging
import os
import sys
import time

os.environ["CKV_IGNORE_HIDDEN_DIRECTORIES"] = "false"
logging.disable(logging.CRITICAL)


def main(paths: list[str]) -> None:
    from checkov.kubernetes.runner import Runner as Manifests
    from checkov.runner_filter import RunnerFilter
    from checkov.terraform.plan_runner import Runner as Plans

    found: dict[str, object] = {}
    for path in paths:
        start = time.monotonic()
        runner, framework = (Manifests(), "kubernetes") if path.endswith(".yaml") else (Plans(), "terraform_plan")
        report = runner.run(root_folder=None, files=[path], runner_filter=RunnerFilter(framework=[framework]))
        reports = report if isinstance(report, list) else [report]
        found[path] = {
            "passed": sorted([check.check_id, check.resource] for each in reports for check in each.passed_checks),
            "failed": sorted([check.check_id, check.resource] for each in reports for check in each.failed_checks),
            "seconds": round(time.monotonic() - start, 3),
        }
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1:])
