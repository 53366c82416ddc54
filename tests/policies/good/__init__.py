"""A small stack in which every rule of both packs has something to pass: the ground on which cases and planted mistakes
stand.

Values that another resource would give are known here, so that nothing is left unjudged; `depends_on` says what they
came from.
"""

from __future__ import annotations

import copy

from tests.policies.good import account, cluster, identity, kubernetes, network, storage
from tests.policies.good.kubernetes import pod_spec
from tests.policies.good.records import ACCOUNT, Record, document, record, urn

__all__ = ["ACCOUNT", "Record", "document", "good_stack", "pod_spec", "record", "urn"]


def good_stack() -> list[Record]:
    """The records, fresh at every call."""
    parts = [
        *network.subnets(),
        *network.way_out(),
        *network.groups(),
        *network.endpoints(),
        *cluster.control_plane(),
        *cluster.training(),
        *cluster.finetuning(),
        *cluster.further_pools(),
        *cluster.beside_pools(),
        *identity.identity(),
        *storage.bucket_access(),
        *storage.bucket_content(),
        *storage.file_systems(),
        *storage.images(),
        *account.watched(),
        *account.money(),
        *kubernetes.namespaces(),
        *kubernetes.workloads(),
    ]
    return copy.deepcopy(parts)
