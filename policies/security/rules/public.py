"""Rules of what is offered to the public on purpose or by default: load balancers, functions, images, snapshots."""

from __future__ import annotations

from collections.abc import Iterator

from policies.declared.resources import Resource
from policies.declared.types import (
    FUNCTION_PERMISSION,
    FUNCTION_URL,
    IMAGE_BLOCK,
    IMAGE_PERMISSION,
    INGRESS,
    LOAD_BALANCER,
    PUBLIC_REPOSITORY,
    SERVICE,
    SNAPSHOT_BLOCK,
)
from policies.packs.policy_rule import Finding, Outcome, Settings, rule

SERVICE_SCHEME = "service.beta.kubernetes.io/aws-load-balancer-scheme"
SERVICE_INTERNAL = "service.beta.kubernetes.io/aws-load-balancer-internal"
INGRESS_SCHEME = "alb.ingress.kubernetes.io/scheme"
# The cloud controller takes these for yes in its older annotation.
YES = ("true", "0.0.0.0/0")


@rule(
    "services-inside-the-network",
    types=(SERVICE, INGRESS, LOAD_BALANCER),
    severity="high",
    says="No load balancer faces the internet, and no service takes addresses from outside.",
    fix=f'set the annotation {SERVICE_SCHEME} to "internal" (for a load balancer internal to true), drop externalIPs',
)
def services_inside_the_network(entry: Resource, _: Settings) -> Iterator[Outcome]:
    if entry.type == LOAD_BALANCER:
        if not (internal := entry.at("internal")).boolean():
            # Left out, it faces the internet.
            yield Finding(internal, "true")
        return
    annotations = entry.at("metadata", "annotations")
    if entry.type.endswith(":Ingress"):
        if (scheme := annotations.at(INGRESS_SCHEME)).text() == "internet-facing":
            yield Finding(scheme, '"internal"')
        return
    if (outside := entry.at("spec", "externalIPs")).elements():
        yield Finding(outside, "no external addresses")
    scheme, internal = annotations.at(SERVICE_SCHEME), annotations.at(SERVICE_INTERNAL)
    inside = scheme.text() == "internal" or (scheme.absent and internal.text() in YES)
    if entry.at("spec", "type").text() == "LoadBalancer" and not inside:
        yield Finding(scheme, '"internal"; left out, EKS makes one that faces the internet')


@rule(
    "functions-not-public",
    types=(FUNCTION_URL, FUNCTION_PERMISSION),
    severity="critical",
    ids=("Lambda.1", "CKV_AWS_258", "CKV_AWS_301"),
    says="No function can be called by everybody.",
    fix="set authorizationType to AWS_IAM; name the account or service in principal, with sourceAccount or sourceArn",
)
def functions_not_public(function: Resource, _: Settings) -> Iterator[Outcome]:
    if function.type == FUNCTION_URL:
        if (kind := function.at("authorizationType")).text() != "AWS_IAM":
            yield Finding(kind, '"AWS_IAM"')
        return
    principal = function.at("principal")
    narrowed = any(not function.at(key).absent for key in ("sourceAccount", "sourceArn", "principalOrgId"))
    if principal.text() == "*" and not narrowed:
        yield Finding(principal, "a named account or service")


@rule(
    "images-not-public",
    types=(IMAGE_PERMISSION, IMAGE_BLOCK, SNAPSHOT_BLOCK, PUBLIC_REPOSITORY),
    severity="critical",
    ids=("EC2.1", "EC2.182"),
    says="No machine image, container image or snapshot is shared with everybody.",
    fix="share with named accounts; leave the account's blocks of public sharing on",
)
def images_not_public(shared: Resource, _: Settings) -> Iterator[Outcome]:
    if shared.type == PUBLIC_REPOSITORY:
        yield Finding(shared.at("repositoryName"), "a private repository (aws.ecr.Repository)")
        return
    if shared.type == IMAGE_PERMISSION:
        if (group := shared.at("group")).text() == "all":
            yield Finding(group, "no group")
        return
    state = shared.at("state")
    # Of snapshots, `block-new-sharing` leaves what is shared already public; of images it is the only block there is.
    if state.text() == "unblocked" or (shared.type == SNAPSHOT_BLOCK and state.text() == "block-new-sharing"):
        yield Finding(state, '"block-all-sharing" for snapshots, "block-new-sharing" for images')
