"""Values beyond what any service takes: each is refused, naming the bound."""

from __future__ import annotations

import pytest

from components.problems import in_file_order, render
from components.spec.reading.reader import read_text
from components.spec.task import read_task_text

HEAD = (
    "config:\n  aws:region: us-west-2\n  trainshed:environment: dev\n  trainshed:network: {zones: [usw2-az1,"
    " usw2-az2]}\n"
)
POOL = "{name: train, purpose: training, instance_type: g6e.48xlarge, zone: usw2-az2, nodes: {min: 0, max: 2}}"
TASK = "task: t\nimage: trainer:dev-1\ncommand: [python]\nresources: {pool: train, nodes: 1}\n"
PATH = "an absolute path such as /datasets is wanted, without the steps . and .."
GROUP = "the name of a placement group is wanted: at most 255 printable ASCII characters"
SECURITY = "the id of a security group such as sg-0a1b2c3d4e5f60718 is wanted"
ARN = "the ARN of a resource group is wanted, such as arn:aws:resource-groups:us-west-2:111122223333:group/reserved"


def reported(text: str) -> list[str]:
    found = in_file_order(read_text(text, "t").problems)
    return [render(each).partition(" ")[2] for each in found]


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        ("100001", "pools[0].nodes: 100001 is out of range; at most 100000 is wanted"),
        (f"1{'0' * 30}", f"pools[0].nodes: {int(1e30)} is out of range; at most 100000 is wanted"),
        ("1e9", "pools[0].nodes: 1000000000 is out of range; at most 100000 is wanted"),
        ("{max: 100001}", "pools[0].nodes.max: 100001 is out of range; at most 100000 is wanted"),
        ("{min: -1, max: 2}", "pools[0].nodes.min: -1 is out of range; at least 0 is wanted"),
    ],
)
def test_a_pool_has_at_most_the_nodes_of_the_largest_cluster(nodes: str, expected: str) -> None:
    pool = POOL.replace("{min: 0, max: 2}", nodes)
    assert reported(f"{HEAD}  trainshed:pools: [{pool}]\n") == [expected]


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        (
            "image_id: ubuntu",
            'image_id: "ubuntu" is malformed; the id of an AMI such as ami-0a1b2c3d4e5f60718 is wanted',
        ),
        ("security_groups: [default]", f'security_groups[0]: "default" is malformed; {SECURITY}'),
        (
            'capacity: {kind: on-demand, placement_group: "a\\tb"}',
            f'capacity.placement_group: "a\\tb" is malformed; {GROUP}',
        ),
        (
            f"capacity: {{kind: on-demand, placement_group: {'a' * 256}}}",
            f'capacity.placement_group: "{"a" * 56}... is malformed; {GROUP}',
        ),
        (
            'capacity: {kind: reservation, resource_group_arn: "arn:aws:resource-groups:"}',
            f'capacity.resource_group_arn: "arn:aws:resource-groups:" is malformed; {ARN}',
        ),
        (
            "repairs: [{condition: Ready, reason: x, wait_minutes: 0, action: Reboot}]",
            "repairs[0].wait_minutes: 0 is out of range; at least 1 is wanted",
        ),
    ],
)
def test_a_pools_ids_and_bounds_are_those_of_its_services(more: str, expected: str) -> None:
    assert reported(f"{HEAD}  trainshed:pools: [{POOL[:-1]}, {more}}}]\n") == [f"pools[0].{expected}"]


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ("budget: {monthly_usd: 0.00001}", "budget.monthly_usd: 1e-05 is out of range; at least 0.01 is wanted"),
        (
            "budget: {monthly_usd: 1e300}",
            f"budget.monthly_usd: {str(int(1e300))[:57]}... is out of range; at most 1000000000000 is wanted",
        ),
        ("cluster: {logs_days: 3654}", "cluster.logs_days: 3654 is out of range; at most 3653 is wanted"),
        ("observability: {logs_days: 3654}", "observability.logs_days: 3654 is out of range; at most 3653 is wanted"),
        (
            "storage: {datasets: {tier_after_days: 2147483648}}",
            "storage.datasets.tier_after_days: 2147483648 is out of range; at most 2147483647 is wanted",
        ),
        (
            "storage: {datasets: {size_gib: 10000000000000000}}",
            "storage.datasets.size_gib: 10000000000000000 is out of range; at most 2147483647 is wanted",
        ),
        (
            "storage: {lustre: [{name: a, zone: usw2-az2, links: [{path: /a/../b, bucket: datasets}]}]}",
            f'storage.lustre[0].links[0].path: "/a/../b" is malformed; {PATH}',
        ),
        (
            "storage: {lustre: [{name: a, zone: usw2-az2, links: [{path: /.., bucket: datasets}]}]}",
            f'storage.lustre[0].links[0].path: "/.." is malformed; {PATH}',
        ),
    ],
)
def test_a_settings_bounds_are_those_of_its_service(more: str, expected: str) -> None:
    assert reported(f"{HEAD}  trainshed:{more}\n") == [expected]


def test_flow_logs_are_kept_as_long_as_logs_can_be() -> None:
    assert reported(HEAD.replace("]}", "], flow_log_days: 100000}")) == [
        "network.flow_log_days: 100000 is out of range; at most 3653 is wanted"
    ]


@pytest.mark.parametrize("path", ["/", "/datasets", "/a.b/..c/d..", "/.cache"])
def test_dots_inside_the_name_of_a_folder_are_no_steps(path: str) -> None:
    assert (
        reported(
            HEAD + f"  trainshed:storage: {{lustre: [{{name: a, zone: usw2-az2, links: [{{path: {path}, bucket:"
            " datasets}]}]}\n"
        )
        == []
    )


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ("user_id: 2147483648", "t:5:10 user_id: 2147483648 is out of range; at most 2147483647 is wanted"),
        ("user_id: 0", "t:5:10 user_id: 0 is out of range; at least 1 is wanted"),
        (
            "recovery: {max_restarts: 2147483648}",
            "t:5:26 recovery.max_restarts: 2147483648 is out of range; at most 2147483647 is wanted",
        ),
        ("ramp: {factor: 100001}", "t:5:16 ramp.factor: 100001 is out of range; at most 100000 is wanted"),
        ("ramp: {start_nodes: 100001}", "t:5:21 ramp.start_nodes: 100001 is out of range; at most 100000 is wanted"),
    ],
)
def test_a_tasks_bounds_are_those_of_kubernetes(more: str, expected: str) -> None:
    assert [render(each) for each in read_task_text(f"{TASK}{more}\n", "t").problems] == [expected]
