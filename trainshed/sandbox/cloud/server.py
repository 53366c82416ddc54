"""moto as a process on 127.0.0.1, with what Karpenter asks AWS for beside it: prices, image names, capacity that ends.

Run as `python -m trainshed.sandbox.cloud.server PORT FOLDER`. `FOLDER/market.json` says the prices of machine types;
`FOLDER/sold_out.json`, read at each purchase, says what can't be bought.
"""

from __future__ import annotations

import json
import re
import sys
import threading
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from moto.backends import get_backend
from moto.core.models import DEFAULT_ACCOUNT_ID
from moto.core.responses import ActionResult
from moto.ec2.responses.fleets import Fleets
from moto.ec2.responses.spot_instances import SpotInstances
from moto.moto_proxy.proxy3 import MotoRequestHandler
from werkzeug.exceptions import HTTPException

from trainshed.sandbox.cloud.account import MARKET, SOLD_OUT

# `Credential=KEY/20261201/us-west-2/ec2/aws4_request` says which service a call is meant for.
_SCOPE = re.compile(r"Credential=[^/]+/\d+/([^/]+)/([^/]+)/aws4_request")
_NOT_FORWARDED = ("content-length", "transfer-encoding", "connection", "date", "server")


@dataclass(frozen=True, kw_only=True)
class Stock:
    """What machines cost and which can't be bought; both are read anew each time, as tests change them."""

    folder: Path

    def prices(self) -> Mapping[str, Mapping[str, float]]:
        """Dollars an hour by way of buying (`on-demand`, `spot`) and machine type."""
        return json.loads((self.folder / MARKET).read_text())

    def sold_out(self, capacity: str, machine: str) -> bool:
        path = self.folder / SOLD_OUT
        wanted: Mapping[str, list[str]] = json.loads(path.read_text()) if path.exists() else {}
        return machine in wanted.get(capacity, []) or "*" in wanted.get(capacity, [])


@dataclass(frozen=True, kw_only=True)
class PublicImages:
    """The images behind EKS' public parameters: one for each name, made when it is first asked for.

    Karpenter tells the variants of an operating system apart by their images, so no two names share one.
    """

    known: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    lock: threading.Lock = field(default_factory=threading.Lock)

    def of(self, name: str, region: str) -> str:
        with self.lock:
            if (region, name) not in self.known:
                made = get_backend("ec2")[DEFAULT_ACCOUNT_ID][region].register_image(name=name)
                made.architecture = "arm64" if "arm64" in name or "aarch64" in name else "x86_64"
                self.known[(region, name)] = made.id
            return self.known[(region, name)]


def sell(stock: Stock) -> None:
    """Let moto's EC2 sell the cheapest machine first, refuse what is sold out as EC2 does, and tell spot prices."""
    bought = Fleets.create_fleet

    def create_fleet(self: Any) -> ActionResult:
        capacity = self._get_param("TargetCapacitySpecification", {}).get("DefaultTargetCapacityType", "on-demand")
        left, refused = _on_sale(stock, capacity, self._get_param("LaunchTemplateConfigs", []))
        if not left:
            self.error_on_dryrun()
            return ActionResult({"FleetId": "fleet-nothing", "Errors": refused, "Instances": []})
        asked = self._get_param

        def get_param(name: str, *more: Any, **named: Any) -> Any:
            return left[:1] if name == "LaunchTemplateConfigs" else asked(name, *more, **named)

        self._get_param = get_param
        answer = bought(self)
        _guard(self.ec2_backend, left[0], answer)
        return answer

    def describe_spot_price_history(self: Any) -> ActionResult:
        found = self.ec2_backend.describe_spot_price_history(
            self._get_param("InstanceTypes", []), self._filters_from_querystring()
        )
        return ActionResult({"SpotPriceHistory": _priced(found, stock.prices()["spot"])})

    def describe_placement_groups(self: Any) -> ActionResult:
        """moto knows no placement groups: every cluster group that is asked for by name is there."""
        names = self._get_param("GroupNames", []) or self._filters_from_querystring().get("group-name", [])
        return ActionResult({"PlacementGroups": [_cluster_group(name) for name in names]})

    Fleets.describe_placement_groups = describe_placement_groups  # pyright: ignore[reportAttributeAccessIssue] - moto lacks it
    Fleets.create_fleet = create_fleet
    SpotInstances.describe_spot_price_history = describe_spot_price_history


def _on_sale(
    stock: Stock, capacity: str, wanted: Sequence[Mapping[str, Any]]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The configurations with their cheapest machine that is left, the cheapest first; and a refusal for each that is
    sold out.
    """
    refused: list[dict[str, Any]] = []
    left: list[dict[str, Any]] = []
    for configuration in wanted:
        kept: list[dict[str, Any]] = []
        for override in configuration.get("Overrides", []):
            if stock.sold_out(capacity, override["InstanceType"]):
                refused.append(_refusal(configuration, override, capacity))
            else:
                kept.append(override)
        # Karpenter writes each machine's price as its priority.
        kept.sort(key=_priority)
        if kept:
            left.append({**configuration, "Overrides": kept[:1]})
    return sorted(left, key=lambda configuration: _priority(configuration["Overrides"][0])), refused


def _priority(override: Mapping[str, Any]) -> float:
    return float(override.get("Priority", 0))


def _priced(found: Sequence[Mapping[str, Any]], prices: Mapping[str, float]) -> list[dict[str, Any]]:
    return [
        {
            "InstanceType": each["InstanceType"],
            "ProductDescription": "Linux/UNIX",
            "SpotPrice": str(prices[each["InstanceType"]]),
            "AvailabilityZone": each["Location"],
            "Timestamp": "2026-01-01T00:00:00Z",
        }
        for each in found
        if each["InstanceType"] in prices
    ]


def _cluster_group(name: str) -> dict[str, str]:
    return {
        "GroupName": name,
        "GroupId": f"pg-{zlib.crc32(name.encode()):08x}",
        "State": "available",
        "Strategy": "cluster",
    }


def _guard(ec2: Any, configuration: Mapping[str, Any], answer: ActionResult) -> None:
    """Give new machines the security groups of their launch template's first interface, which moto's fleets forget."""
    name = configuration["LaunchTemplateSpecification"]["LaunchTemplateName"]
    interfaces = ec2.get_launch_template_by_name(name).latest_version().data.get("NetworkInterfaces") or [{}]
    groups = [ec2.get_security_group_from_id(each) for each in interfaces[0].get("Groups", [])]
    result: Any = answer.result
    for each in result.get("Instances", []):
        for machine in each["InstanceIds"]:
            ec2.get_instance(machine).security_groups = groups


def _refusal(configuration: Mapping[str, Any], override: Mapping[str, Any], capacity: str) -> dict[str, Any]:
    return {
        "ErrorCode": "InsufficientInstanceCapacity",
        "ErrorMessage": f"We currently do not have sufficient {override['InstanceType']} capacity.",
        "Lifecycle": capacity,
        "LaunchTemplateAndOverrides": {
            "LaunchTemplateSpecification": dict(configuration["LaunchTemplateSpecification"]),
            "Overrides": dict(override),
        },
    }


def price_list(stock: Stock) -> dict[str, Any]:
    """An answer to the price list's GetProducts, as far as Karpenter reads it."""
    products = [
        {
            "product": {"attributes": {"instanceType": machine}},
            "terms": {"OnDemand": {"term": {"priceDimensions": {"hour": {"pricePerUnit": {"USD": str(usd)}}}}}},
        }
        for machine, usd in stock.prices()["on-demand"].items()
    ]
    return {"FormatVersion": "aws_v1", "PriceList": [json.dumps(each) for each in products]}


class Handler(BaseHTTPRequestHandler):
    """One call of an AWS client."""

    protocol_version = "HTTP/1.1"
    stock: Stock
    images = PublicImages()
    moto: MotoRequestHandler

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        scope = _SCOPE.search(self.headers.get("Authorization") or "")
        region, service = scope.groups() if scope else ("us-east-1", "sts")
        called = (self.headers.get("X-Amz-Target") or "").rsplit(".", 1)[-1]
        if service == "pricing":
            return self._json(price_list(self.stock))
        if service == "ssm" and called == "GetParameter":
            name = str(json.loads(body)["Name"])
            if name.startswith("/aws/service/"):
                return self._json(
                    {"Parameter": {"Name": name, "Type": "String", "Value": self.images.of(name, region)}}
                )
        host = f"https://{service}.{region}.amazonaws.com"
        try:
            status, headers, answer = self.moto.parse_request(self.command, host, self.path, self.headers, body)
        except HTTPException as refused:
            response = refused.get_response()
            status, headers, answer = response.status_code, dict(response.headers), response.get_data()
        except NotImplementedError as lacking:
            print(lacking, file=sys.stderr, flush=True)
            status, headers, answer = 501, {}, str(lacking)
        return self._send(status, headers, answer.encode() if isinstance(answer, str) else answer)

    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = do_HEAD = _answer  # noqa: N815 - the base class's names

    def _json(self, answer: Mapping[str, Any]) -> None:
        self._send(200, {"content-type": "application/x-amz-json-1.1"}, json.dumps(answer).encode())

    def _send(self, status: int, headers: Mapping[str, str], answer: bytes) -> None:
        self.send_response(status)
        for name, value in headers.items():
            if name.lower() not in _NOT_FORWARDED:
                self.send_header(name, str(value))
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: Any) -> None:
        """Only errors are worth a line; they come on stderr by themselves."""


class Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True


def main(port: int, folder: Path) -> None:
    Handler.stock = Stock(folder=folder)
    Handler.moto = MotoRequestHandler(port)
    sell(Handler.stock)
    Server(("127.0.0.1", port), Handler).serve_forever()


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
