"""Edits of a stack file, each with what AWS, EKS, FSx and Kubernetes make of it, told by the whole comment.

The base is a stack with a reservation, a block, spot machines, a file system with EFA and replicated checkpoints. Each
row is an edit, whether the change may pass, and words that the comment has.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from tests.given import ROOT
from trainshed.preview.run import preview
from trainshed.review.comment.whole import comment
from trainshed.review.sources import Side, stack_settings
from trainshed.review.verdict import Review, review

PROD = (ROOT / "stacks" / "Pulumi.prod.yaml").read_text()


@dataclass(frozen=True, kw_only=True)
class Edit:
    """What is replaced in the stack file, the exit code, and what the comment says and doesn't say."""

    name: str
    swaps: tuple[tuple[str, str], ...]
    passes: bool
    says: tuple[str, ...]
    never: tuple[str, ...] = ()


def edit(name: str, old: str, new: str, *says: str, passes: bool = True, never: tuple[str, ...] = ()) -> Edit:
    return Edit(name=name, swaps=((old, new),), passes=passes, says=says, never=never)


REPLACED, DELETED, REFUSED = "would be **replaced**", "would be **deleted**", "⛔"
NO_DANGER = ("Data in danger",)
RESERVED = "ids: [cr-0a1b2c3d4e5f60718, cr-1a1b2c3d4e5f60718, cr-2a1b2c3d4e5f60718]"

EDITS = (
    # Money.
    edit(
        "fifty more nodes",
        "nodes: 1250",
        "nodes: 1300",
        "at least +2.01 M a month (+4 %)",
        "grows by 50 nodes with 400 cards",
        "**+683,046 a month** more than before",
        "a month over the stack's budget",
        passes=False,
    ),
    edit(
        "a budget below the cost",
        "monthly_usd: 52000000",
        "monthly_usd: 20000000",
        "no change in cost; **30.38 M a month over the stack's budget**",
        "2.5 x the budget",
        "`monthly-cost-within-ceiling` (critical)",
        passes=False,
    ),
    edit(
        "a block that grows",
        "nodes: {min: 0, max: 16}",
        "nodes: {min: 0, max: 17}",
        "`finetune` grows by 1 node",
        "at least +",
    ),
    # File systems: FSx.
    edit(
        "a larger file system", "capacity_gib: 76800", "capacity_gib: 96000", "at least +6,528 a month", never=NO_DANGER
    ),
    edit(
        "a smaller file system",
        "capacity_gib: 76800",
        "capacity_gib: 67200",
        REPLACED,
        "`storageCapacity` (`capacity_gib` in the stack file): `76800` → `67200`",
        passes=False,
    ),
    edit(
        "more throughput with EFA",
        "throughput_mbps_per_tib: 500",
        "throughput_mbps_per_tib: 1000",
        "FSx does not change the throughput of a file system with EFA (from the documentation, not tried on AWS)",
        "1 change would be refused by the service",
        passes=False,
    ),
    edit("without EFA", "        efa: true\n", "", REPLACED, "`efaEnabled` (`efa` in the stack file)", passes=False),
    edit("scratch instead of persistent", "deployment: PERSISTENT_2", "deployment: SCRATCH_2", passes=False),
    # Buckets: S3.
    edit("checkpoints kept longer", "keep_last: 5", "keep_last: 50", never=NO_DANGER),
    edit("checkpoints kept shorter", "expire_days: 30", "expire_days: 7"),
    edit(
        "no copy of the checkpoints",
        ", replicate_to: us-east-2",
        "",
        "bucket `store-checkpoints-copy`",
        DELETED,
        "AWS refuses while it holds objects",
        passes=False,
    ),
    edit(
        "the copy in another region",
        "replicate_to: us-east-2",
        "replicate_to: eu-west-1",
        "bucket `store-checkpoints-copy`",
        REPLACED,
        passes=False,
    ),
    edit("a larger dataset", "size_gib: 31000", "size_gib: 33000", "at least +", never=NO_DANGER),
    # The cluster: EKS.
    edit(
        "one version on",
        'version: "1.35"',
        'version: "1.36"',
        "**rolls**",
        "126 at a time over 3 node groups side by side, the old machine before the new one",
        never=("400 nodes",),
    ),
    edit(
        "one version back",
        'version: "1.35"',
        'version: "1.34"',
        "EKS goes back by one minor version, within seven days",
        "1 change the service takes only under conditions",
    ),
    edit("another tier", "control_plane_tier: tier-4xl", "control_plane_tier: tier-2xl", never=NO_DANGER),
    edit(
        "a public endpoint",
        "endpoint: {public: false, allowed_cidrs: []}",
        'endpoint: {public: true, allowed_cidrs: ["192.0.2.0/24"]}',
        never=NO_DANGER,
    ),
    edit(
        "another admin",
        "role/platform-admin",
        "role/platform-owner",
        "cluster-admins-named",
        passes=False,
        never=NO_DANGER,
    ),
    edit("larger system nodes", "m7i.2xlarge, nodes: 3", "m7i.4xlarge, nodes: 3", "`cluster`", "1", never=NO_DANGER),
    edit("more system nodes", "m7i.2xlarge, nodes: 3", "m7i.2xlarge, nodes: 4", "grows by 1 node", never=NO_DANGER),
    # The network.
    edit(
        "another range of the VPC",
        "cidr: 10.0.0.0/16",
        "cidr: 10.8.0.0/16",
        "cluster `cluster-cluster` " + REPLACED,
        "file system `lustre-train-system` " + REPLACED,
        "`vpcConfig.subnetIds`: `<unknown>` → `network-vpc is replaced`",
        passes=False,
    ),
    edit(
        "a range more for the nodes",
        "compute_cidrs: [100.64.0.0/16]",
        "compute_cidrs: [100.64.0.0/16, 100.65.0.0/16]",
        never=NO_DANGER,
    ),
    # Pools.
    edit(
        "another type of a reserved pool",
        "instance_type: p5.48xlarge",
        "instance_type: p5e.48xlarge",
        "**is replaced**",
        "the change in cost is not known",
    ),
    edit(
        "another type of a block",
        "instance_type: p5en.48xlarge",
        "instance_type: p5.48xlarge",
        "`finetune`",
        "**rolls**",
    ),
    edit(
        "a reservation less",
        RESERVED,
        "ids: [cr-0a1b2c3d4e5f60718, cr-1a1b2c3d4e5f60718, cr-3b1b2c3d4e5f60718]",
        "**goes** with up to 416 nodes",
        "comes with up to 416 nodes",
    ),
    edit("more spot machines", "max: 200", "max: 220", "`preprocess` grows by 20 nodes", never=("grows by 40",)),
    edit("a minimum for spot machines", "{min: 0, max: 200}", "{min: 5, max: 200}", never=NO_DANGER),
    # Karpenter's nodes stay until they are empty: no job ends for another way of buying them.
    edit(
        "on demand instead of spot",
        'spot_preprocessing: "true"',
        'spot_preprocessing: "false"',
        "Nothing stands against it",
        "at least +67,461 a month",
        never=("**goes**", "**is replaced**", *NO_DANGER),
    ),
    edit(
        "a type less for preprocessing",
        "m6i.8xlarge, m6a.8xlarge]",
        "m6i.8xlarge]",
        "Nothing stands against it",
        never=("**goes**", "**is replaced**", *NO_DANGER),
    ),
    # Queues and tasks.
    edit(
        "a queue with fewer cards",
        "cards: 9856}",
        "cards: 9848}",
        "`tasks/llama-405b.yaml:",
        "1 task would no longer run",
        passes=False,
    ),
    edit("another cohort", "cohort: shared", "cohort: lent", never=NO_DANGER),
    # What is kept and told.
    edit("shorter logs", "logs_days: 90", "logs_days: 30", "older logs go", "protection gets weaker"),
    edit(
        "no deletion protection",
        "delete_protection: true",
        "delete_protection: false",
        "the engine would no longer refuse to delete it",
        passes=False,
    ),
    edit("no audit trail", "audit_trail: true", "audit_trail: false", "audit trail `governance-trail`", passes=False),
    edit("another address for alarms", "oncall@example.com", "night@example.com", never=NO_DANGER),
    edit("another owner", "owner: ml-platform", "owner: ml-core", never=NO_DANGER),
    edit(
        "another zone of the file system",
        "      - name: train\n        zone: usw2-az3",
        "      - name: train\n        zone: usw2-az2",
        "the preview fails",
        "where EFA does not reach it",
        passes=False,
    ),
    edit(
        "another block",
        "cr-3a1b2c3d4e5f60718, start",
        "cr-4a1b2c3d4e5f60718, start",
        "**goes** with up to 16 nodes with 128 cards",
        "comes with up to 16 nodes with 128 cards",
    ),
    edit(
        "a zone more",
        "zones: [usw2-az2, usw2-az3, usw2-az4]\n    egress",
        "zones: [usw2-az1, usw2-az2, usw2-az3, usw2-az4]\n    egress",
        "`subnetIds`",
        "from network-nodes-usw2-az1",
        never=('["&lt;unknown&gt;"', *NO_DANGER),
    ),
    Edit(
        name="fewer nodes",
        swaps=(("nodes: 1250", "nodes: 1240"), ("cards: 9856}", "cards: 9776}")),
        passes=False,
        says=(
            "**shrinks** by 10 nodes with 80 cards, and the jobs on them end",
            "Cost: -402,324 a month (-0.8 %)",
            "`tasks/llama-405b.yaml:",
        ),
    ),
    Edit(
        name="a pool renamed with its old name",
        swaps=(("- name: pretrain", "- name: train0\n      formerly: pretrain"), ("pool: pretrain", "pool: train0")),
        passes=False,
        says=(
            "no change in cost",
            'this change takes away the pool "pretrain" that it runs on',
            "1 task would no longer",
        ),
        never=("**is replaced**", "**goes**", "Newly committed"),
    ),
    Edit(
        name="a pool renamed without it",
        swaps=(("- name: pretrain", "- name: train0"), ("pool: pretrain", "pool: train0")),
        passes=False,
        says=("**goes** with up to 1,250 nodes", "comes with up to 1,250 nodes"),
    ),
)


def side(folder: Path, text: str, label: str) -> Side:
    stacks, tasks = folder / "stacks", folder / "tasks"
    stacks.mkdir(parents=True)
    tasks.mkdir()
    for each in (ROOT / "tasks").glob("*.yaml"):
        (tasks / each.name).write_text(each.read_text())
    path = stacks / "Pulumi.prod.yaml"
    path.write_text(text)
    made = preview(str(path))
    return Side(
        label=label,
        resources=made.records,
        problems=made.problems,
        verdict=made.verdict,
        settings=stack_settings(path),
        stack_file=path,
    )


@cache
def base(folder: Path) -> Side:
    return side(folder, PROD, "main")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("base") / "project"


def reviewed(swaps: tuple[tuple[str, str], ...], shared: Path, folder: Path) -> Review:
    text = PROD
    for old, new in swaps:
        assert old in text
        text = text.replace(old, new)
    return review("prod", base(shared), side(folder / "project", text, "this change"))


@pytest.mark.parametrize("case", EDITS, ids=[each.name for each in EDITS])
def test_an_edit_is_told_for_what_it_does(case: Edit, shared: Path, tmp_path: Path) -> None:
    found = reviewed(case.swaps, shared, tmp_path)
    said = comment(found)
    assert [each for each in case.says if each not in said] == [], said[:6000]
    assert [each for each in case.never if each in said] == [], said[:6000]
    assert found.passes is case.passes, said[:3000]
