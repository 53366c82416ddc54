"""Rules over the stack as a whole: what must be there for its form."""

from __future__ import annotations

from collections.abc import Iterator

from components.catalog import Catalog, regions
from components.naming import did_you_mean
from components.planning.rules.registry import rule
from components.problems import Problem
from components.spec.form import SelfHosted
from components.spec.stack import StackSpec

_POOL = (
    "write at least one pool under trainshed:pools, such as {name: train, purpose: training, instance_type:"
    " p5.48xlarge, zone: …, nodes: 2}"
)


@rule()
def region_exists(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """The region is one whose zones and machines the catalog knows; in another, nothing else can be judged."""
    known = regions.known(cat)
    if not stack.on_aws or stack.region in known:
        return
    partition = regions.partition_of(stack.region)
    if partition.word != "aws":
        said = (
            f'"{stack.region}" is a region of {partition.title}, which is not supported: the catalog knows no zones,'
            f" machines or prices of partition {partition.word}, and nothing was ever planned against it"
        )
        hint = f"use a region of partition aws, such as {known[-1]}; there is no way to deploy to {partition.title}"
        yield Problem(id="partition-unsupported", path="aws:region", said=said, hint=hint)
    else:
        said = f'"{stack.region}" is no region that the catalog knows'
        yield Problem(id="region-unknown", path="aws:region", said=said, hint=did_you_mean(stack.region, known))


@rule()
def has_pools(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """A stack without pools has nothing to train on."""
    if not stack.pools:
        yield Problem(id="no-pools", path="pools", said="the stack has no pools", hint=_POOL)


@rule()
def form_fits_sections(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """On AWS there is a network; on a cluster that exists there is none of ours."""
    if isinstance(stack.form, SelfHosted):
        for section in ("network", "cluster"):
            if getattr(stack, section) is not None:
                said = "the form is self-hosted, whose cluster exists already"
                yield Problem(
                    id="section-without-use",
                    path=section,
                    said=said,
                    hint=f"take {section} out, or use form {{kind: cloud}}",
                )


@rule(each="pools")
def form_fits_pools(stack: StackSpec, cat: Catalog) -> Iterator[Problem]:
    """Self-hosted pools describe their hosts; pools on AWS name instance types."""
    for index, pool in enumerate(stack.pools):
        path = f"pools[{index}]"
        if isinstance(stack.form, SelfHosted):
            if pool.hosts is None:
                said = f'pool "{pool.name}" of a self-hosted stack says nothing of its machines'
                hint = "describe them under hosts: {accelerator: h100, cards: 8, vcpu: 192, memory_gib: 2048}"
                yield Problem(id="hosts-missing", path=f"{path}.hosts", said=said, hint=hint)
            if pool.types:
                key = "instance_type" if pool.instance_type else "instance_types"
                said = "instance types are AWS's; this stack's machines exist"
                yield Problem(id="instance-type-without-use", path=f"{path}.{key}", said=said, hint="use hosts")
        elif pool.hosts is not None:
            said = "hosts describes machines of a self-hosted stack"
            yield Problem(
                id="hosts-without-use",
                path=f"{path}.hosts",
                said=said,
                hint="use instance_type, or form {kind: self-hosted, …}",
            )
