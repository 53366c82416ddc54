"""The packs as wholes: every rule is wired and documented, and nothing of the project is imported."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import subprocess
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

import policies.cost.rules
import policies.security.rules
from policies.cost.pack import PACK as COST
from policies.declared import types
from policies.external_tools.install import command
from policies.packs.configuration import FOLDER, load, parse, path_of
from policies.packs.exemptions import read
from policies.packs.pack import EXEMPTIONS_RULE, Pack
from policies.packs.policy_rule import LEVELS, SEVERITIES, PolicyRule
from policies.security.pack import PACK as SECURITY
from policies.tables.rules_in_readme import README, written
from tests.left_out import strict
from tests.policies.stacks import STACKS

ROOT = Path(__file__).resolve().parents[2] / "policies"
PACKS = {"security": (SECURITY, policies.security.rules), "cost": (COST, policies.cost.rules)}
each_pack = pytest.mark.parametrize("name", list(PACKS))


@each_pack
def test_every_rule_in_the_folder_is_in_the_pack(name: str) -> None:
    pack, folder = PACKS[name]
    modules = [
        importlib.import_module(f"{folder.__name__}.{found.name}") for found in pkgutil.iter_modules(folder.__path__)
    ]
    declared = {value.name for module in modules for value in vars(module).values() if isinstance(value, PolicyRule)}
    assert declared == {rule.name for rule in pack.own_rules}
    assert len(pack.rules) == len({rule.name for rule in pack.rules})


def test_the_readme_documents_every_rule() -> None:
    text = README.read_text(encoding="utf-8")
    assert written() in text, "run python -m policies.tables.rules_in_readme"
    for pack, _ in PACKS.values():
        for rule in pack.rules:
            assert f"| `{rule.name}` | {rule.summary} |" in text


@each_pack
def test_a_rule_says_all_that_a_reader_needs(name: str) -> None:
    for rule in PACKS[name][0].rules:
        assert rule.summary.endswith("."), rule.name
        assert rule.fix and not rule.fix.endswith("."), rule.name
        assert rule.severity in SEVERITIES
        assert rule.level in LEVELS
        assert all("default" in schema and "type" in schema for schema in rule.parameters.values()), rule.name


@each_pack
def test_a_rule_names_only_known_types(name: str) -> None:
    tokens = {value for key, value in vars(types).items() if key.isupper()} | {"*", "aws:kms/keyPolicy:KeyPolicy"}
    databases = {"aws:rds/cluster:Cluster", "aws:rds/instance:Instance"}
    assert {type_ for rule in PACKS[name][0].own_rules for type_ in rule.types} <= tokens | databases


@each_pack
def test_the_program_of_a_pack_holds_only_the_pack(name: str) -> None:
    tree = ast.parse((ROOT / name / "__main__.py").read_text())
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    assert len(tree.body) <= 8


def test_the_packs_import_nothing_of_the_project() -> None:
    own = {"components", "infra", "trainshed", "workload", "tests"}
    for path in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not {name.partition(".")[0] for name in names} & own, path


def test_rules_look_at_no_clock_and_no_environment() -> None:
    for path in [*(ROOT / "security").rglob("*.py"), *(ROOT / "cost").rglob("*.py")]:
        if path.name != "__main__.py":
            text = path.read_text()
            assert not [
                word for word in (".today()", ".now(", "os.environ", "urllib", "import requests") if word in text
            ], path


@each_pack
@pytest.mark.parametrize("stack", STACKS)
def test_a_configuration_file_names_only_rules_and_parameters_that_exist(name: str, stack: str) -> None:
    pack: Pack = PACKS[name][0]
    configuration = load(name, stack)
    rules = {rule.name: rule for rule in pack.rules}
    for rule_name, values in configuration.values.items():
        assert set(values) <= set(rules[rule_name].parameters), rule_name
    assert set(configuration.levels) <= set(rules)


@each_pack
def test_every_exemption_that_ships_has_an_owner_and_a_date(name: str) -> None:
    for path in (FOLDER / name).glob("*.json"):
        configuration = load(name, path.stem)
        reading = read(configuration.exemptions, [rule.name for rule in PACKS[name][0].rules], None)
        assert reading.faults == (), path
        for entry in reading.standing:
            assert entry.owner in {"ml-platform", "pretraining"}
            assert entry.urn_glob != "*", "an exemption names its resources"
            assert entry.rule != EXEMPTIONS_RULE.name


def test_a_stack_file_comes_before_its_environments_configuration() -> None:
    assert path_of("security", "onprem", "prod") == FOLDER / "security" / "onprem.json"
    assert path_of("security", "branch", "prod") == FOLDER / "security" / "prod.json"
    assert path_of("security", "branch", "nowhere") is None


def test_a_type_pattern_reaches_every_version_of_a_kind() -> None:
    for token in (
        "kubernetes:rbac.authorization.k8s.io/v1:ClusterRole",
        "kubernetes:rbac.authorization.k8s.io/v1beta1:ClusterRole",
    ):
        assert "roles-name-their-rights" in {rule.name for rule in SECURITY.applying_to(token)}
    assert fnmatchcase("kubernetes:karpenter.sh/v1:NodePool", types.KARPENTER_POOL)


def test_a_level_for_all_rules_may_be_overridden_for_one() -> None:
    configuration = parse({"all": "disabled", "cluster-logs": "advisory"})
    assert {configuration.level(rule) for rule in SECURITY.rules if rule.name != "cluster-logs"} == {"disabled"}


def test_custodian_finds_the_idle_rules_valid() -> None:
    custodian = command("custodian")
    if custodian is None:
        (pytest.fail if strict() else pytest.skip)(
            "custodian is missing: python -m policies.external_tools.install custodian"
        )
    ran = subprocess.run(
        [str(custodian), "validate", str(ROOT / "custodian" / "idle.yml")], capture_output=True, text=True, check=False
    )
    assert (ran.returncode, "Configuration valid" in ran.stderr + ran.stdout) == (0, True), ran.stderr


def test_the_idle_rules_delete_nothing() -> None:
    text = (ROOT / "custodian" / "idle.yml").read_text()
    assert not [
        word
        for word in ("terminate", "delete", "- stop", "release")
        if word in text.lower().replace("deletes anything", "")
    ]
