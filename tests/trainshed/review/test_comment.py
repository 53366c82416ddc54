"""The comment: its order, its words, its size, and that nothing a user wrote becomes markup."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from typing import Any

import pytest

from components.problems import Problem, Where
from components.record import Record
from policies.packs.evaluation import NotJudged, Violation
from policies.packs.exemptions import Exemption
from policies.packs.policy_rule import Level
from tests.trainshed.review.review_states import (
    BUCKET,
    GROUP,
    KEY,
    LUSTRE,
    SUBNET,
    group,
    lustre,
    resource,
    side,
    template,
)
from trainshed.preview.policies import Exempted, Verdict
from trainshed.review.comment.markdown import Section, code, text, written
from trainshed.review.comment.whole import comment, marker
from trainshed.review.verdict import Review, review

REPOSITORY = "aws:ecr/repository:Repository"


def made(before: list[Record], after: list[Record], **more: Any) -> Review:
    return review("prod", side(*before, label="main (abc1234)"), side(*after, label="working tree", **more))


def violation(level: Level = "mandatory", name: str = "lustre-train-system", message: str = "") -> Violation:
    return Violation(
        pack="security",
        rule="file-systems-encrypted",
        level=level,
        severity="high",
        urn=f"urn:pulumi:prod::trainshed::aws:fsx/lustreFileSystem:LustreFileSystem::{name}",
        path="kmsKeyId",
        message=message
        or 'kmsKeyId is not set; wanted: a key. Fix: set kmsKeyId. Exemption: {"rule": "file-systems-encrypted"}',
    )


def reported(*violations: Violation, doubts: Sequence[NotJudged] = (), exempted: Sequence[Exempted] = ()) -> Verdict:
    return Verdict(violations=violations, unjudged=tuple(doubts), exempted=tuple(exempted))


def test_the_first_line_is_the_marker_by_which_the_comment_is_found_again() -> None:
    assert comment(made([], [])).startswith("<!-- trainshed-review: prod -->\n")
    assert marker("pr-->od") == "<!-- trainshed-review: pr--od -->"


def test_nothing_changes_is_said_too() -> None:
    found = made([lustre()], [lustre()])
    assert found.exit_code == 0
    assert "✅ **Nothing changes.**" in comment(found)


def test_an_unacknowledged_replacement_blocks_and_says_how_to_accept_it() -> None:
    found = made([lustre(4800)], [lustre(2400)])
    said = comment(found)
    assert found.exit_code == 1
    assert "⛔ **Don't merge yet:** 1 stateful resource would be replaced, and nobody acknowledged it." in said
    assert (
        "- ⛔ file system `lustre-train-system` would be **replaced**: every file that no linked bucket holds would be"
        " lost." in said
    )
    assert "  - `storageCapacity`: `4800` → `2400`" in said
    assert "it is **not protected**; it has no automatic backups; no final backup is made" in said
    assert '    - {id: review-replaces, path: lustre-train-system, reason: "why this may happen"}' in said


def test_an_acknowledged_danger_passes_and_shows_its_reason() -> None:
    settings = {
        "aws:region": "us-west-2",
        "trainshed:environment": "prod",
        "trainshed:acknowledged": [
            {"id": "review-replaces", "path": "lustre-train-system", "reason": "empty since *yesterday*"}
        ],
    }
    found = made([lustre(4800)], [lustre(2400)], settings=settings)
    said = comment(found)
    assert found.exit_code == 0
    assert "⚠️ **May be merged with care:** 1 acknowledged danger." in said
    assert "  - acknowledged: empty since \\*yesterday\\*" in said


def test_an_acknowledgement_without_a_reason_counts_for_nothing() -> None:
    settings = {"trainshed:acknowledged": [{"id": "review-replaces", "path": "lustre-train-system", "reason": " "}]}
    assert made([lustre(4800)], [lustre(2400)], settings=settings).exit_code == 1


def test_an_acknowledgement_that_answers_to_nothing_or_is_old_is_told() -> None:
    accepted = [{"id": "review-replaces", "path": "lustre-train-system", "reason": "once"}]
    settings = {"aws:region": "us-west-2", "trainshed:acknowledged": accepted}
    idle = comment(made([lustre()], [lustre()], settings=settings))
    assert (
        "`review-replaces` of `lustre-train-system` answers to nothing in this change: take it out of the stack file"
        in idle
    )
    stale = review("prod", side(lustre(4800), settings=settings), side(lustre(2400), settings=settings))
    assert "it stood there before this change: make sure it means this one" in comment(stale)


def test_sections_come_worst_first() -> None:
    before, after = [lustre(4800), group(nodes=4)], [lustre(2400), group(nodes=6)]
    said = comment(
        made(
            before,
            after,
            verdict=reported(violation(), violation("advisory", "other"), doubts=[_doubt()], exempted=[_exemption()]),
        )
    )
    titles = re.findall(r"^### (.*)$|<summary>(.*)</summary>", said, re.MULTILINE)
    assert ["".join(each) for each in titles] == [
        "Data in danger",
        "Node pools",
        "Cost a month in USD, before and after",
        "Mandatory policy violations (1)",
        "Advice of the policies (1)",
        "What could not be judged (1)",
        "Exemptions and acknowledgements (1)",
        "Every change, by component",
    ]


def _doubt(path: str = "policy") -> NotJudged:
    return NotJudged(
        pack="security", rule="iam-no-wildcards", urn="urn:a::b::c::role", path=path, why="is not known yet"
    )


def _exemption() -> Exempted:
    entry = Exemption(
        rule="pods-no-host-paths",
        urn_glob="*",
        reason="reads the node",
        owner="ml-platform",
        expires=date(2027, 5, 31),
    )
    return Exempted(exemption=entry, urn="urn:a::b::c::exporter")


def test_a_violation_has_its_rule_resource_fix_and_exemption_and_fails() -> None:
    found = made([lustre()], [lustre(7200)], verdict=reported(violation()))
    said = comment(found)
    assert found.exit_code == 1
    assert "- `file-systems-encrypted` (high) on `lustre-train-system`: kmsKeyId is not set; wanted: a key." in said
    assert "  - Fix: set kmsKeyId." in said
    assert '  - To be excused, in the pack\'s configuration: `{"rule": "file-systems-encrypted"}`' in said


def test_a_violation_of_the_base_is_told_as_such_and_advice_of_the_base_is_folded() -> None:
    old = reported(violation(), violation("advisory", "other"))
    found = review("prod", side(lustre(), verdict=old), side(lustre(), verdict=old))
    said = comment(found)
    assert [each.new for each in found.findings] == [False, False]
    assert "on `lustre-train-system` — held before this change:" in said
    assert "<summary>Advice that held before this change (1)</summary>" in said


def test_a_rule_that_says_the_same_of_many_resources_says_it_once() -> None:
    said = comment(
        made([lustre()], [lustre()], verdict=reported(*(violation(name=f"it-{number}") for number in range(10))))
    )
    assert said.count("kmsKeyId is not set") == 1
    assert "on `it-0`, `it-1`, `it-2`, `it-3`, `it-4`, `it-5`, `it-6`, `it-7` and 2 more: kmsKeyId is not set" in said
    assert "10 mandatory policy violations" in said


def test_protection_that_many_lose_is_told_once() -> None:
    before = [resource(BUCKET, name, protect=True) for name in ("a", "b")]
    found = made(before, [resource(BUCKET, name) for name in ("a", "b")])
    line = (
        "- `option protect`: `true` → `false`: the engine would no longer refuse to delete it. On Bucket `a`, Bucket"
        " `b`."
    )
    assert line in comment(found)
    assert found.exit_code == len(found.mandatory[:1])


def test_a_broken_head_gives_its_problems_and_no_cost_of_it() -> None:
    problem = Problem(
        id="instance-type-unknown",
        path="pools[0].instance_type",
        said='"p5.48xlarg" is not in the catalog',
        hint='did you mean "p5.48xlarge"?',
        where=Where(file="stacks/Pulumi.prod.yaml", line=31, column=22),
    )
    found = review("prod", side(lustre()), side(label="working tree", problems=(problem,)))
    said = comment(found)
    assert found.exit_code == 1
    assert "⛔ **Don't merge yet:** the preview fails." in said
    assert (
        '- `stacks/Pulumi.prod.yaml:31` `pools[0].instance_type`: "p5.48xlarg" is not in the catalog; **did you mean'
        ' "p5.48xlarge"?**' in said
    )
    assert "| after | unknown | unknown | unknown |" in said
    assert found.changes is None


def test_a_crashed_preview_shows_its_last_words() -> None:
    found = review("prod", side(lustre()), side(label="working tree", failure="Traceback\nKeyError: 'a`b'"))
    assert "    KeyError: 'a`b'" in comment(found)
    assert found.exit_code == 1


def test_a_new_stack_is_all_creations_and_passes() -> None:
    found = review("prod", side(settings=None, label="main"), side(lustre(), group(), label="working tree"))
    said = comment(found)
    assert found.counts == {"create": 2, "update": 0, "replace": 0, "delete": 0}
    assert found.exit_code == 0
    assert "✅ **Nothing stands against it.** It is a new stack." in said


def test_a_stack_file_that_is_gone_puts_its_data_in_danger() -> None:
    found = review("prod", side(lustre()), side(settings=None, label="working tree"))
    assert [each.name for each in found.dangers] == ["lustre-train-system"]
    assert found.exit_code == 1


def test_cost_has_both_sides_the_difference_its_drivers_and_the_cards() -> None:
    said = comment(made([group(nodes=4), template()], [group(nodes=5), template()]))
    hour = 55.04 * 730
    assert f"| before | {4 * hour:,.0f} | {4 * hour:,.0f} | {4 * hour:,.0f} |" in said
    assert f"| **change** | **+{hour:,.0f}** | **+{hour:,.0f}** | **+{hour:,.0f}** |" in said
    assert "Cards: 32 → 40 (+8)." in said
    assert "4 machines x 55.04 USD x 730 h \\(on-demand\\) → 5 machines x 55.04 USD x 730 h \\(on-demand\\)" in said


def test_a_change_to_what_has_no_price_is_not_told_as_a_saving() -> None:
    found = made([group(nodes=4)], [group(nodes=4, instanceTypes=["p5e.48xlarge"])])
    said = comment(found)
    assert found.money.delta is not None
    assert found.money.delta.expected < -100_000
    assert found.money.bound == "unknown"
    assert "| **change** | **not known** | **not known** | **not known** |" in said
    assert "the change in cost is not known: 1 thing has no known price" in said
    assert "- pretrain-nodes: p5e.48xlarge on-demand: no on-demand price is known in us-west-2 for 4 machines" in said
    assert [(each.rule, each.why) for each in found.verdict.unjudged] == [
        ("cost-change-within-ceiling", "leaves out what this change adds without a known price")
    ]


def test_a_jump_in_cost_breaks_the_ceiling_of_the_environment() -> None:
    budget = resource(
        "aws:budgets/budget:Budget",
        "budget",
        {"budgetType": "COST", "limitAmount": "60000000", "limitUnit": "USD", "timeUnit": "MONTHLY"},
    )
    found = made([budget, group(nodes=4)], [budget, group(nodes=1250)])
    assert "cost-change-within-ceiling" in {each.violation.rule for each in found.findings}


def test_alike_changes_are_told_once() -> None:
    names = [f"subnet-{number}" for number in range(40)]
    before = [resource(SUBNET, name, {"tags": {"team": "a"}}) for name in names]
    after = [resource(SUBNET, name, {"tags": {"team": "b"}}) for name in names]
    said = comment(made(before, after))
    assert said.count("`tags.team`") == 1
    assert (
        "- **update** 40 of Subnet: `subnet-0`, `subnet-1`, `subnet-10`, `subnet-11`, `subnet-12`, `subnet-13` and 34"
        " more" in said
    )


def test_a_huge_change_stays_under_the_limit_and_keeps_the_worst() -> None:
    before = [resource(BUCKET, f"bucket-{number}", {"forceDestroy": True, "text": "x" * 300}) for number in range(2000)]
    after = [
        resource(SUBNET, f"subnet-{number}", {"cidrBlock": f"10.0.{number}.0/24", "long": f"{number}" * 900})
        for number in range(2000)
    ]
    many = tuple(
        violation(name=f"file-system-{number}", message=f"{number} is wrong. Fix: mend it. Exemption: none")
        for number in range(3000)
    )
    found = made(before, after, verdict=reported(*many, doubts=[_doubt(f"p{number}") for number in range(3000)]))
    said = comment(found)
    assert len(said) < 60_000
    assert len(said) > 30_000
    assert "2,000 stateful resources would be deleted" in said
    assert re.search(r"… and [0-9,]+ more, left out to stay within what one comment may hold\.", said)
    assert said.count("<details>") == said.count("</details>")
    assert (
        said.index("Data in danger")
        < said.index("Mandatory policy violations (3000)")
        < said.index("Every change, by component")
    )


def test_a_users_words_never_become_markup_mentions_or_html() -> None:
    evil = "@team `x` | <img src=a> [l](http://e.vil) #1 -->"
    before = [resource(BUCKET, evil, {"a": evil})]
    said = comment(
        made(
            before,
            [resource(BUCKET, evil, {"a": f"{evil}{evil}"})],
            verdict=reported(violation("advisory", message=evil)),
        )
    )
    bare = re.sub(r"(`+)(?:(?!\1).)+?\1(?!`)", "", said.replace("\\`", ""))
    assert "<img" not in bare
    assert "@team" not in bare
    assert "](http" not in bare


def test_a_code_span_cannot_be_left_and_plain_words_are_escaped() -> None:
    assert code("a`b") == "``a`b``"
    assert code("`a") == "`` `a ``"
    assert code("a\nb") == "`a b`"
    assert code("x" * 300, 10) == "`xxxxxxxxx…`"
    assert text("*a* <b> @c #1") == "\\*a\\* &lt;b&gt; &#64;c \\#1"


def test_secrets_stay_secret_in_both_formats() -> None:
    secret = {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", "plaintext": '"hunter2"'}
    found = made(
        [resource(BUCKET, "store", {"a": "<secret>", "b": secret})],
        [resource(BUCKET, "store", {"a": "open", "b": [secret]})],
    )
    assert "hunter2" not in comment(found)
    assert "hunter2" not in json.dumps(found.as_json())
    assert "`a`: `<secret>` → `open`" in comment(found)


def test_the_json_object_says_the_same() -> None:
    printed = made([lustre(4800)], [lustre(2400)]).as_json()
    assert json.loads(json.dumps(printed)) == printed
    assert (printed["passes"], printed["exit_code"]) == (False, 1)
    assert printed["counts"] == {"create": 0, "update": 0, "replace": 1, "delete": 0}
    assert printed["dangers"][0]["id"] == "review-replaces"
    assert printed["dangers"][0]["path"] == "lustre-train-system"
    assert printed["dangers"][0]["reasons"] == [{"path": "storageCapacity", "old": "4800", "new": "2400"}]


def test_sections_are_cut_at_their_blocks() -> None:
    sections = [Section(title="A", blocks=["x" * 50] * 100, most=500), Section(title="B", blocks=["y"], folded=True)]
    said = written("head", sections, "foot", 2000)
    assert "… and 91 more" in said
    assert said.endswith("foot")
    assert "<details><summary>B</summary>\n\ny\n\n</details>" in said


def test_a_secret_that_changes_is_no_unchanged_stack_and_is_never_shown() -> None:
    def sealed(secret: str) -> dict[str, Any]:
        return {"trainshed:form": {"kind": "self-hosted", "kubeconfig": {"secure": secret}}}

    found = review("prod", side(lustre(), settings=sealed("v1:one")), side(lustre(), settings=sealed("v1:two")))
    said = comment(found)
    assert "⚠️ **A secret changes:** `form.kubeconfig`. What that does can't be told from here." in said
    assert "✅" not in said
    assert "- `form.kubeconfig`: another value; nothing else of it can be told" in said
    assert "v1:" not in said
    assert found.as_json()["secrets_changed"] == ["form.kubeconfig"]


def test_the_most_precious_comes_first() -> None:
    names = (
        (REPOSITORY, "registry-quay/prometheus/node-exporter"),
        (REPOSITORY, "registry-trainer"),
        (BUCKET, "store-logs"),
        (BUCKET, "store-datasets"),
        (KEY, "store-key"),
        (BUCKET, "store-checkpoints"),
    )
    found = made([*(resource(type_, name) for type_, name in names), lustre()], [])
    assert [each.name for each in found.dangers] == [
        "store-checkpoints",
        "store-datasets",
        "lustre-train-system",
        "store-key",
        "store-logs",
        "registry-trainer",
        "registry-quay/prometheus/node-exporter",
    ]


def test_user_data_is_decoded_and_told_line_by_line() -> None:
    def encoded(text: str) -> str:
        return base64.b64encode(text.encode()).decode()

    before = template(userData=encoded("#!/bin/sh\necho one\nexit 0\n"))
    after = template(userData=encoded("#!/bin/sh\necho two\nexit 0\n"))
    said = comment(made([group(), before], [group(), after]))
    assert "`userData.line 2`: `echo one` → `echo two`" in said
    assert encoded("#!/bin/sh\necho two\nexit 0\n") not in said


CLAIM = "kubernetes:core/v1:PersistentVolumeClaim"
KUEUE = "kubernetes:kueue.x-k8s.io/v1beta2"


@pytest.mark.parametrize(
    ("type_", "old", "new", "why"),
    [
        (
            CLAIM,
            {"spec": {"volumeName": "v", "resources": {"requests": {"storage": "75Ti"}}}},
            {"spec": {"volumeName": "v", "resources": {"requests": {"storage": "90Ti"}}}},
            "the API server resizes dynamically provisioned claims only",
        ),
        (
            CLAIM,
            {"spec": {"resources": {"requests": {"storage": "1Ti"}}}},
            {"spec": {"resources": {"requests": {"storage": "900Gi"}}}},
            "a claim never shrinks",
        ),
        (
            f"{KUEUE}:LocalQueue",
            {"spec": {"clusterQueue": "a"}},
            {"spec": {"clusterQueue": "b"}},
            "keeps a local queue",
        ),
        (
            f"{KUEUE}:ResourceFlavor",
            {"spec": {"topologyName": "t", "nodeLabels": {"a": "1"}}},
            {"spec": {"topologyName": "t", "nodeLabels": {"a": "2"}}},
            "a flavor that has a topology",
        ),
        (f"{KUEUE}:Topology", {"spec": {"levels": ["a"]}}, {"spec": {"levels": ["b"]}}, "the levels of a topology"),
        (
            "aws:eks/cluster:Cluster",
            {"accessConfig": {"authenticationMode": "API"}},
            {"accessConfig": {"authenticationMode": "CONFIG_MAP"}},
            "EKS does not go back from access entries",
        ),
        ("aws:eks/cluster:Cluster", {"version": "1.33"}, {"version": "1.35"}, "one minor version at a time"),
        ("aws:eks/cluster:Cluster", {"version": "1.35"}, {"version": "1.33"}, "not by 2"),
        (LUSTRE, {"storageCapacity": 9600}, {"storageCapacity": 9700}, "a tenth at least"),
    ],
)
def test_what_a_service_refuses_in_place_blocks(type_: str, old: dict[str, Any], new: dict[str, Any], why: str) -> None:
    found = made([resource(type_, "it", old)], [resource(type_, "it", new)])
    assert why in comment(found)
    assert len(found.refused) == 1
    assert found.exit_code == 1


def test_a_claim_that_is_provisioned_dynamically_may_grow() -> None:
    sizes = [{"spec": {"resources": {"requests": {"storage": each}}}} for each in ("1Ti", "2Ti")]
    assert made([resource(CLAIM, "it", sizes[0])], [resource(CLAIM, "it", sizes[1])]).refusals == ()


def test_a_reserved_group_that_is_deleted_first_finds_its_machines() -> None:
    target = {"capacityReservationSpecification": {"capacityReservationTarget": {"capacityReservationId": "cr-1"}}}
    before, after = [group(), template(**target)], group(instanceTypes=["p5e.48xlarge"])
    stuck = made(before, [after, template(**target)])
    assert "the reservation has no machines left for it: it never becomes ready" in comment(stuck)
    first = made(before, [replace(after, delete_before_replace=True), template(**target)])
    assert first.refusals == ()


def test_children_of_a_renamed_component_are_found_under_their_parents_alias() -> None:
    def pool(name: str, *aliases: str) -> list[Record]:
        head = "urn:pulumi:prod::trainshed::trainshed:pool:GpuPool"
        parent = Record(urn=f"{head}::{name}", type="trainshed:pool:GpuPool", name=name, custom=False, aliases=aliases)
        child = Record(urn=f"{head}${GROUP}::{name}-nodes-1", type=GROUP, name=f"{name}-nodes-1", parent=parent.urn)
        return [parent, child]

    found = made(pool("pretrain"), pool("train", "pretrain"))
    assert found.counts == {"create": 0, "update": 1, "replace": 0, "delete": 0}
    assert made(pool("pretrain"), pool("train")).counts["delete"] == 1
