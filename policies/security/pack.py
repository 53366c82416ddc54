"""The security pack: every rule about who can reach, read or change what."""

from __future__ import annotations

import json
from pathlib import Path

from policies.packs.pack import Pack
from policies.packs.policy_rule import rules_of
from policies.security.rules import (
    audit,
    bucket_content,
    buckets,
    cluster,
    credentials,
    efa,
    endpoints,
    iam,
    keys,
    kinds,
    kubernetes_rights,
    lustre,
    network,
    node_roles,
    nodes,
    pod_contents,
    pods,
    public,
    registry,
)

# What the project's own daemons and buckets may do against a rule, each with a reason and a date.
EXEMPTIONS = Path(__file__).parent / "exemptions.json"

PACK = Pack(
    name="security",
    version="0.1.0",
    summary="Controls on access, encryption, networks, pods and audit of a training cluster.",
    own_rules=rules_of(
        cluster,
        nodes,
        node_roles,
        efa,
        network,
        endpoints,
        buckets,
        bucket_content,
        keys,
        iam,
        registry,
        lustre,
        audit,
        public,
        credentials,
        kinds,
        pods,
        pod_contents,
        kubernetes_rights,
    ),
    exemptions=tuple(json.loads(EXEMPTIONS.read_text(encoding="utf-8"))),
)
