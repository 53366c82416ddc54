"""Rules of what a pod asks for and runs: its needs, identity, place, images and secrets."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase

from policies.declared.resources import Resource
from policies.declared.types import WORKLOADS
from policies.declared.values import Node
from policies.packs.policy_rule import Finding, Outcome, Settings, rule
from policies.security.rules.pods import each_container, each_pod

ACCELERATORS = ("nvidia.com/", "aws.amazon.com/neuron", "habana.ai/", "amd.com/gpu")


@rule(
    "pods-state-their-needs",
    types=(WORKLOADS,),
    severity="medium",
    ids=("CKV_K8S_10", "CKV_K8S_11", "CKV_K8S_12", "CKV_K8S_13"),
    says="Containers limit their memory, request processor time, and hold as many cards as they request.",
    fix="set resources.limits.memory and resources.requests.cpu, and the same number of cards in both",
)
def pods_state_their_needs(resource: Resource, _: Settings) -> Iterator[Outcome]:
    def check(container: Node, _: Node) -> Iterator[Outcome]:
        resources = container.at("resources")
        limits, requests = resources.at("limits"), resources.at("requests")
        for node in (limits.at("memory"), requests.at("cpu")):
            node.require_known()
            # A limit stands for the request that is left out.
            if node.value in ("", None) or (node.absent and (node.path.endswith("memory") or limits.at("cpu").absent)):
                yield Finding(node, "an amount")
        for name, asked in requests.entries().items():
            if name.startswith(ACCELERATORS) and str(asked.value) != str(limits.at(name).value):
                yield Finding(limits.at(name), f"the {asked.value} that are requested")

    yield from each_container(resource, check)


@rule(
    "pods-have-an-identity",
    types=(WORKLOADS,),
    severity="medium",
    ids=("CIS-EKS 4.1.5", "CIS-EKS 4.1.6", "CKV_K8S_38", "CKV_K8S_41"),
    says="A pod that may call the API server does so with an account of its own.",
    fix="set automountServiceAccountToken to false, or serviceAccountName to an account made for it",
)
def pods_have_an_identity(resource: Resource, _: Settings) -> Iterator[Outcome]:
    def check(pod: Node) -> Iterator[Outcome]:
        account, mounted = pod.at("serviceAccountName"), pod.at("automountServiceAccountToken")
        if mounted.boolean() is False:
            return
        named = resource.holds("spec", "kubernetes:core/v1:ServiceAccount", node=account)
        if not named or account.value == "default":
            yield Finding(mounted, "false, as the pod uses the namespace's default account")

    yield from each_pod(resource, check)


@rule(
    "pods-in-own-namespaces",
    types=(WORKLOADS,),
    severity="medium",
    ids=("CIS-EKS 4.5.2", "CKV_K8S_21"),
    says="Pods live in namespaces made for them.",
    fix="set metadata.namespace",
)
def pods_in_own_namespaces(resource: Resource, _: Settings) -> Iterator[Outcome]:
    if not resource.pods:
        return
    namespace = resource.at("metadata", "namespace")
    if not namespace.unknown and (namespace.text() or "default") == "default":
        yield Finding(namespace, 'a namespace that isn\'t "default"')


REGISTRIES = [
    "*.dkr.ecr.*.amazonaws.com/*",
    "*.dkr.ecr.*.amazonaws.com.cn/*",
    "public.ecr.aws/*",
    "registry.k8s.io/*",
    "nvcr.io/*",
    "quay.io/*",
    "ghcr.io/*",
]


@rule(
    "pods-run-pinned-images",
    types=(WORKLOADS,),
    severity="medium",
    level="mandatory",
    ids=("CIS-EKS 5.1.4", "CKV_K8S_14", "CKV_K8S_43"),
    says="Images come from an approved registry, by digest or a fixed tag.",
    fix="name the image by its digest, or a tag that says a version, from the account's own registry",
    parameters={"registries": {"type": "array", "items": {"type": "string"}, "default": REGISTRIES}},
)
def pods_run_pinned_images(resource: Resource, settings: Settings) -> Iterator[Outcome]:
    def check(container: Node, _: Node) -> Iterator[Outcome]:
        image = container.at("image")
        text = image.text()
        if not text:
            yield Finding(image, "an image")
            return
        name, digest = text.partition("@")[::2]
        tag = name.rpartition("/")[2].partition(":")[2]
        if not digest.startswith("sha256:") and tag in ("", "latest", "stable", "main", "master", "nightly", "edge"):
            yield Finding(image, "a digest or a tag that says a version")
        if not any(fnmatchcase(text, pattern) for pattern in settings["registries"]):
            yield Finding(image, f"a registry of {', '.join(settings['registries'])}")

    yield from each_container(resource, check)


@rule(
    "pods-read-secrets-from-files",
    types=(WORKLOADS,),
    severity="low",
    ids=("CIS-EKS 4.4.1", "CKV_K8S_35"),
    says="Secrets are mounted as files; the environment is inherited and logged.",
    fix="mount the secret as a volume and read the file",
)
def pods_read_secrets_from_files(resource: Resource, _: Settings) -> Iterator[Outcome]:
    def check(container: Node, _: Node) -> Iterator[Outcome]:
        references = [entry.at("valueFrom", "secretKeyRef", "name") for entry in container.at("env").elements()]
        references += [entry.at("secretRef", "name") for entry in container.at("envFrom").elements()]
        for reference in references:
            if not reference.absent:
                yield Finding(reference, "a volume with that secret")

    yield from each_container(resource, check)
