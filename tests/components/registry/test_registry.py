"""The registry as declared: repositories that keep what they hold, and a cache that fills itself for whoever may
pull.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest

from components.planning import images
from components.registry import Registry, RegistryArgs
from components.spec.storage import RegistrySpec
from tests.declared import Record, named, of_type, one, record
from tests.given import CAT, stack

TAGS = {"owner": "ml-platform", "cost-center": "4711"}
SECRET = "arn:aws:secretsmanager:us-west-2:111122223333:secret:ecr-pullthroughcache/github-AbCdEf"
KEY = "arn:aws:kms:us-west-2:111122223333:registry-key"


@cache
def _declared(spec: str, known: bool, of: str) -> tuple[Record, ...]:
    words = RegistrySpec.model_validate_json(spec)
    storage = stack(of).storage.model_copy(update={"registry": words})
    whole = stack(of).model_copy(update={"storage": storage})
    args = RegistryArgs(
        spec=words,
        region="us-west-2",
        account_id="111122223333",
        images=images.needed(whole, CAT),
        cached_registries=images.cached_by(whole, CAT),
        protect=True,
        tags=TAGS,
    )

    def program() -> None:
        Registry("registry", args)

    return tuple(record(program, known=known))


def declared(known: bool = True, of: str = "prod", **spec: Any) -> tuple[Record, ...]:
    return _declared(json.dumps(spec), known, of)


def lifecycle(records: tuple[Record, ...], name: str) -> list[dict[str, Any]]:
    [found] = [each for each in of_type(records, "LifecyclePolicy") if each.name == name]
    rules: list[dict[str, Any]] = json.loads(found.inputs["policy"])["rules"]
    return rules


def test_a_first_preview_declares_what_an_update_declares() -> None:
    assert sorted((each.type, each.name) for each in declared(known=False)) == sorted(
        (each.type, each.name) for each in declared()
    )


def test_repositories_of_both_kinds_keep_tags_scan_and_encrypt() -> None:
    repositories = of_type(declared(), "Repository")
    assert {each.inputs["name"] for each in repositories} == {
        "trainer",
        "ecr-public/amazonlinux/amazonlinux",
        "ecr-public/aws-observability/aws-for-fluent-bit",
        "ecr-public/docker/library/python",
        "eks/eks/aws-efa-k8s-device-plugin",
        "nvcr/nvidia/k8s-device-plugin",
        "nvcr/nvidia/k8s/dcgm-exporter",
        "quay/prometheus/node-exporter",
    }
    for each in repositories:
        assert each.inputs["imageTagMutability"] == "IMMUTABLE"
        assert each.inputs["imageScanningConfiguration"] == {"scanOnPush": True}
        assert each.inputs["encryptionConfigurations"] == [{"encryptionType": "KMS", "kmsKey": KEY}]
        assert lifecycle(declared(), each.name)[0]["selection"]["tagStatus"] == "untagged"
    assert named(declared(), "registry-key").inputs["enableKeyRotation"] is True


def test_each_environment_keeps_its_newest_images_and_production_comes_first() -> None:
    rules = lifecycle(declared(keep_images=10), "registry-trainer")
    kept = [
        (each["rulePriority"], each["selection"].get("tagPatternList"), each["selection"]["countNumber"])
        for each in rules
    ]
    assert kept == [
        (1, None, 7),
        (2, ["prod-*"], 10),
        (3, ["standby-*"], 10),
        (4, ["staging-*"], 10),
        (5, ["dev-*"], 10),
    ]


def test_publishers_that_ask_nobody_are_cached_and_others_only_with_a_secret() -> None:
    rules = {each.inputs["ecrRepositoryPrefix"]: each.inputs for each in of_type(declared(), "PullThroughCacheRule")}
    assert {prefix: words["upstreamRegistryUrl"] for prefix, words in rules.items()} == {
        "ecr-public": "public.ecr.aws",
        "kubernetes": "registry.k8s.io",
        "quay": "quay.io",
    }
    with_secret = declared(credentials={"ghcr.io": SECRET})
    [github] = [
        each for each in of_type(with_secret, "PullThroughCacheRule") if each.inputs["ecrRepositoryPrefix"] == "github"
    ]
    assert github.inputs["credentialArn"] == SECRET


def test_repositories_that_the_cache_makes_look_like_declared_ones() -> None:
    for template in of_type(declared(), "RepositoryCreationTemplate"):
        assert template.inputs["appliedFors"] == ["PULL_THROUGH_CACHE"]
        assert template.inputs["imageTagMutability"] == "IMMUTABLE"
        assert template.inputs["encryptionConfigurations"] == [{"encryptionType": "KMS", "kmsKey": KEY}]
        assert template.inputs["resourceTags"]["owner"] == "ml-platform"
        rule = one(
            [each for each in of_type(declared(), "PullThroughCacheRule") if each.name == template.name],
            "PullThroughCacheRule",
        )
        assert template.urn in rule.depends_on


def test_the_accounts_own_principals_fill_the_cache_and_nothing_else() -> None:
    [statement] = json.loads(one(declared(), "RegistryPolicy").inputs["policy"])["Statement"]
    assert statement["Action"] == ["ecr:BatchImportUpstreamImage", "ecr:CreateRepository"]
    assert statement["Condition"] == {"StringEquals": {"aws:PrincipalAccount": "111122223333"}}
    assert statement["Resource"] == [
        f"arn:aws:ecr:us-west-2:111122223333:repository/{folder}/*" for folder in ("ecr-public", "quay", "kubernetes")
    ]


def test_a_network_without_a_way_out_has_no_cache() -> None:
    records = declared(of="staging")
    assert not of_type(records, "PullThroughCacheRule")
    assert not of_type(records, "RegistryPolicy")
    assert {"kubernetes/kueue/kueue", "quay/prometheus/node-exporter"} <= {
        each.inputs["name"] for each in of_type(records, "Repository")
    }


def test_a_stack_that_uses_anothers_registry_declares_nothing_of_it() -> None:
    [only] = declared(declare=False)
    assert only.type == "trainshed:storage:Registry"


def test_own_images_and_the_key_are_protected_and_the_mirror_is_not() -> None:
    assert {each.name for each in declared() if each.protect} == {"registry-trainer", "registry-key"}


@pytest.mark.parametrize(("region", "host"), [("us-west-2", "amazonaws.com"), ("cn-north-1", "amazonaws.com.cn")])
def test_the_prefix_is_the_registrys_host(region: str, host: str) -> None:
    seen: list[str] = []

    def program() -> None:
        made = Registry(
            "registry", RegistryArgs(spec=RegistrySpec(declare=False), region=region, account_id="111122223333")
        )
        made.prefix.apply(seen.append)

    record(program, known=True)
    assert seen == [f"111122223333.dkr.ecr.{region}.{host}"]
