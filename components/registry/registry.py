"""The account's image registry: repositories of its own images and of the mirror, and the rules that fill the mirror.

A pull through the registry's cache needs a rule for each publisher, leave to import and to make repositories, and a
template for those repositories. The very first pull of an image also needs a route to the internet from the network
that asks: see `planning/images.py`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pulumi
import pulumi_aws as aws

from components.identity import policy_documents
from components.identity.policy_documents import Statement
from components.planning import alone
from components.planning.images import Mirrored, folder, upstream
from components.refused import refuse
from components.spec.storage import RegistrySpec

_UNTAGGED_DAYS = 7
_MIRROR_IMAGES = 20


@dataclass(frozen=True, kw_only=True)
class RegistryArgs:
    """`images` are the mirror's; `cached_registries` the publishers that a pull-through rule serves. `protect` guards
    the repositories of the account's own images and the key, `force_delete` lets a repository go with its images.
    """

    spec: RegistrySpec
    region: str
    account_id: pulumi.Input[str]
    images: tuple[Mirrored, ...] = ()
    cached_registries: tuple[str, ...] = ()
    protect: bool = False
    force_delete: bool = False
    tags: Mapping[str, str] = field(default_factory=dict[str, str])


class Registry(pulumi.ComponentResource):
    """Attributes: `prefix` (`ACCOUNT.dkr.ecr.REGION.amazonaws.com`), `repository_urls` by repository (empty where
    another stack declares the registry), `ready` (what pulls wait for).
    """

    def __init__(self, name: str, args: RegistryArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        refuse("Registry", name, alone.of_registry(args.spec, args.region))
        super().__init__("trainshed:storage:Registry", name, args.spec.model_dump(mode="json"), opts)
        self._name, self._args = name, args
        self._children = pulumi.ResourceOptions(parent=self)
        self.prefix = prefix(args.region, args.account_id)
        self.repository_urls: Mapping[str, pulumi.Output[str]] = {}
        self.ready: list[pulumi.Resource] = []
        if args.spec.declare:
            self._declare()
        self.register_outputs({"prefix": self.prefix, "repository_urls": dict(self.repository_urls)})

    def _declare(self) -> None:
        args, key = self._args, self._key()
        mirrored = sorted({each.repository for each in args.images} - set(args.spec.repositories))
        own = {each: self._repository(each, key, own=True) for each in sorted(set(args.spec.repositories))}
        mirror = {each: self._repository(each, key, own=False) for each in mirrored}
        self.repository_urls = {each: made.repository_url for each, made in {**own, **mirror}.items()}
        self.ready = [*own.values(), *mirror.values()]
        if args.cached_registries:
            self.ready += self._cache(key)

    def _tags(self, role: str) -> dict[str, str]:
        return {**self._args.tags, "Name": f"{self._name}-{role}"}

    def _key(self) -> aws.kms.Key:
        return aws.kms.Key(
            f"{self._name}-key",
            description="Container images",
            enable_key_rotation=True,
            deletion_window_in_days=30,
            # ECR uses the key by grants that it makes with the rights of whoever makes the repository.
            policy=policy_documents.document(
                policy_documents.key_administration(self._args.region, self._args.account_id)
            ),
            tags=self._tags("key"),
            opts=pulumi.ResourceOptions(parent=self, protect=self._args.protect),
        )

    def _repository(self, repository: str, key: aws.kms.Key, *, own: bool) -> aws.ecr.Repository:
        made = aws.ecr.Repository(
            f"{self._name}-{repository}",
            # Task files and manifests name it.
            name=repository,
            image_tag_mutability="IMMUTABLE",
            image_scanning_configuration={"scan_on_push": True},
            encryption_configurations=[{"encryption_type": "KMS", "kms_key": key.arn}],
            force_delete=self._args.force_delete,
            tags=self._tags(repository),
            opts=pulumi.ResourceOptions(parent=self, protect=self._args.protect and own),
        )
        aws.ecr.LifecyclePolicy(
            f"{self._name}-{repository}",
            repository=made.name,
            policy=lifecycle(self._args.spec.keep_images if own else None),
            opts=self._children,
        )
        return made

    def _cache(self, key: aws.kms.Key) -> list[pulumi.Resource]:
        """A rule for each publisher, how its repositories look, and who may fill them."""
        account = self._args.account_id
        repositories = tuple(
            pulumi.Output.concat(
                "arn:",
                policy_documents.partition(self._args.region),
                f":ecr:{self._args.region}:",
                account,
                f":repository/{folder(each)}/*",
            )
            for each in self._args.cached_registries
        )
        role, rights = self._cache_role(key, repositories)
        found: list[pulumi.Resource] = [
            # Nodes may pull, not make repositories: this lets the account's own principals fill the cache, and only the
            # cache.
            aws.ecr.RegistryPolicy(
                f"{self._name}-cache",
                policy=policy_documents.document(
                    Statement(
                        sid="OwnPrincipalsFillCache",
                        actions=("ecr:BatchImportUpstreamImage", "ecr:CreateRepository"),
                        resources=repositories,
                        principals={"AWS": ("*",)},
                        conditions={"StringEquals": {"aws:PrincipalAccount": account}},
                    )
                ),
                opts=self._children,
            )
        ]
        return [*found, *(self._cache_rule(each, key, role, rights) for each in self._args.cached_registries)]

    def _cache_role(
        self, key: aws.kms.Key, repositories: tuple[pulumi.Output[str], ...]
    ) -> tuple[aws.iam.Role, aws.iam.RolePolicy]:
        """The role by which ECR makes the cache's repositories, and its rights."""
        role = aws.iam.Role(
            f"{self._name}-cache",
            description="Makes repositories of the pull-through cache with their key and tags",
            assume_role_policy=policy_documents.trust(
                "ecr.amazonaws.com", conditions={"StringEquals": {"aws:SourceAccount": self._args.account_id}}
            ),
            tags=self._tags("cache"),
            opts=self._children,
        )
        rights = aws.iam.RolePolicy(
            f"{self._name}-cache",
            role=role.name,
            policy=policy_documents.document(
                Statement(
                    sid="MakeRepositories",
                    actions=("ecr:CreateRepository", "ecr:ReplicateImage", "ecr:TagResource"),
                    resources=repositories,
                ),
                Statement(
                    sid="UseKey",
                    actions=("kms:CreateGrant", "kms:DescribeKey", "kms:RetireGrant"),
                    resources=(key.arn,),
                ),
            ),
            opts=self._children,
        )
        return role, rights

    def _cache_rule(
        self, publisher: str, key: aws.kms.Key, role: aws.iam.Role, rights: aws.iam.RolePolicy
    ) -> aws.ecr.PullThroughCacheRule:
        """The rule of one publisher, after the template of its repositories."""
        name = f"{self._name}-cache-{folder(publisher)}"
        template = aws.ecr.RepositoryCreationTemplate(
            name,
            prefix=folder(publisher),
            description=f"Images of {publisher}",
            applied_fors=["PULL_THROUGH_CACHE"],
            image_tag_mutability="IMMUTABLE",
            encryption_configurations=[{"encryption_type": "KMS", "kms_key": key.arn}],
            lifecycle_policy=lifecycle(None),
            custom_role_arn=role.arn,
            resource_tags=self._tags(f"cache-{folder(publisher)}"),
            opts=pulumi.ResourceOptions(parent=self, depends_on=[rights]),
        )
        return aws.ecr.PullThroughCacheRule(
            name,
            ecr_repository_prefix=folder(publisher),
            upstream_registry_url=upstream(publisher),
            credential_arn=self._args.spec.credentials.get(upstream(publisher)),
            opts=pulumi.ResourceOptions(parent=self, depends_on=[template]),
        )


def prefix(region: str, account_id: pulumi.Input[str]) -> pulumi.Output[str]:
    """The host of the account's registry, whether or not this stack declares it."""
    return pulumi.Output.concat(account_id, f".dkr.ecr.{region}.{policy_documents.domain(region)}")


def lifecycle(keep_each: int | None) -> str:
    """Untagged images go after a week. Of the account's own, each environment keeps its newest; of the mirror, a few
    versions stay.
    """
    rules: list[dict[str, Any]] = [
        _rule(
            1,
            "untagged",
            {
                "tagStatus": "untagged",
                "countType": "sinceImagePushed",
                "countUnit": "days",
                "countNumber": _UNTAGGED_DAYS,
            },
        )
    ]
    if keep_each is None:
        rules.append(
            _rule(2, "mirror", {"tagStatus": "any", "countType": "imageCountMoreThan", "countNumber": _MIRROR_IMAGES})
        )
    else:
        # An image that any environment's rule keeps would go by another's: ECR counts it under the first rule it
        # matches, so production's comes first.
        for place, environment in enumerate(("prod", "standby", "staging", "dev"), start=2):
            selection = {
                "tagStatus": "tagged",
                "tagPatternList": [f"{environment}-*"],
                "countType": "imageCountMoreThan",
                "countNumber": keep_each,
            }
            rules.append(_rule(place, environment, selection))
    return json.dumps({"rules": rules}, sort_keys=True)


def _rule(place: int, words: str, selection: Mapping[str, Any]) -> dict[str, Any]:
    return {"rulePriority": place, "description": words, "selection": dict(selection), "action": {"type": "expire"}}
