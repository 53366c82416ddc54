"""The security pack: every rule about who can reach, read or change what."""

from __future__ import annotations

from policies.pack import Pack
from policies.rules import rules_of
from policies.security.rules import access, buckets, cluster, keys, network, nodes, pods, roles, stores

PACK = Pack(
    name="security",
    version="0.1.0",
    summary="Controls on access, encryption, networks, pods and audit of a training cluster.",
    own_rules=rules_of(cluster, nodes, network, buckets, keys, access, stores, pods, roles),
)
