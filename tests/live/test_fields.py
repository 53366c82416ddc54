"""The comparison of what was declared with what a server kept."""

from __future__ import annotations

from tests.live.support.fields import lost

POD = {"spec": {"containers": [{"name": "a", "resources": {"limits": {"cpu": "1000m"}}}], "nodeSelector": {}}}


def test_what_a_server_writes_its_own_way_is_not_lost() -> None:
    kept = {
        "spec": {"containers": [{"name": "a", "resources": {"limits": {"cpu": "1"}}, "imagePullPolicy": "Always"}]},
        "status": {},
    }
    assert list(lost(POD, kept)) == []


def test_a_field_and_an_item_that_are_gone_are_named() -> None:
    assert list(lost({**POD, "spek": {"a": 1}}, POD)) == [".spek"]
    assert list(lost(POD, {"spec": {"containers": [{"name": "a"}]}})) == [".spec.containers[0].resources"]
    assert list(lost({"ports": [{"port": 1}, {"port": 2}]}, {"ports": [{"port": 1}]})) == [".ports: 2 declared, 1 kept"]
