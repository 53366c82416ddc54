"""Planted ways in: each another resource or field by which a right, an address or a document reaches its target.

They are planted mistakes as those of `planted`, and checkov is asked about the same ones.
"""

from __future__ import annotations

from typing import Any

from tests.policies.cases import BUCKET, CLUSTER, CONTAINER, JOB, POD, REMOVE, ROLE, TEMPLATE, TRAINING
from tests.policies.good import ACCOUNT, Record, document, record
from tests.policies.planted import TAGS, Planted, adding, both, ingress, policy, setting

NODES = f"arn:aws:iam::{ACCOUNT}:role/nodes"
DEVELOPER = f"arn:aws:iam::{ACCOUNT}:role/developer"
FULL = "arn:aws:iam::aws:policy/AmazonS3FullAccess"
BUCKETS = policy("s3:GetObject", "arn:aws:s3:::acme-data/*")
ANYBODY = {"Effect": "Allow", "Principal": "*", "Resource": "*"}
NODE_ROLE = ("node-role-minimal",)


def role(trust: str) -> Record:
    return record("aws:iam/role:Role", "other", {"name": "other", "assumeRolePolicy": trust, "tags": TAGS})


def trusting(principal: Any, condition: Any = None, action: str = "sts:AssumeRole") -> Record:
    return role(
        document(
            {
                "Effect": "Allow",
                "Principal": principal,
                "Action": action,
                **({"Condition": condition} if condition else {}),
            }
        )
    )


def iam(kind: str, **inputs: Any) -> Record:
    return record(f"aws:iam/{kind[0].lower()}{kind[1:]}:{kind}", "way", inputs)


def kubernetes(kind: str, group: str = "rbac.authorization.k8s.io/v1", **inputs: Any) -> Record:
    return record(f"kubernetes:{group}:{kind}", "way", {"metadata": {"name": "way", "namespace": "training"}, **inputs})


def rights(resources: list[str], verbs: list[str]) -> Record:
    return kubernetes("ClusterRole", rules=[{"apiGroups": [""], "resources": resources, "verbs": verbs}])


GITHUB = "token.actions.githubusercontent.com"
WAYS_IN: tuple[Planted, ...] = (
    # A permission reaches the nodes' role.
    Planted(
        "a permission of the nodes by an inline policy",
        adding(iam("RolePolicy", role="nodes", policy=BUCKETS)),
        NODE_ROLE,
    ),
    Planted("a permission of the nodes in the role itself", setting(ROLE, ("managedPolicyArns",), [FULL]), NODE_ROLE),
    Planted(
        "a permission of the nodes by an inline policy in the role itself",
        setting(ROLE, ("inlinePolicies",), [{"name": "x", "policy": BUCKETS}]),
        NODE_ROLE,
    ),
    Planted(
        "a permission of the nodes by an attachment to many roles",
        adding(iam("PolicyAttachment", name="x", roles=["nodes"], policyArn=FULL)),
        NODE_ROLE,
    ),
    Planted(
        "a permission of the nodes by an exclusive list",
        adding(iam("RolePolicyAttachmentsExclusive", roleName="nodes", policyArns=[FULL])),
        NODE_ROLE,
    ),
    Planted(
        "a policy of the stack that is called like one of AWS's own",
        adding(
            record(
                "aws:iam/policy:Policy", "own", {"name": "AmazonEKSWorkerNodePolicy", "policy": BUCKETS, "tags": TAGS}
            ),
            iam(
                "RolePolicyAttachment",
                role="nodes",
                policyArn=f"arn:aws:iam::{ACCOUNT}:policy/AmazonEKSWorkerNodePolicy",
            ),
        ),
        NODE_ROLE,
    ),
    Planted("a permission of the nodes by the trust of another role", adding(trusting({"AWS": NODES})), NODE_ROLE),
    Planted(
        "a permission of the nodes by a bucket's policy",
        adding(
            record(
                "aws:s3/bucketPolicy:BucketPolicy",
                "way",
                {
                    "bucket": "other",
                    "policy": document(
                        {"Effect": "Allow", "Principal": {"AWS": NODES}, "Action": "s3:GetObject", "Resource": "*"}
                    ),
                },
            )
        ),
        NODE_ROLE,
    ),
    Planted(
        "a permission of the nodes by a grant on a key",
        adding(
            record("aws:kms/grant:Grant", "way", {"keyId": "k", "granteePrincipal": NODES, "operations": ["Decrypt"]})
        ),
        NODE_ROLE,
    ),
    Planted(
        "pods that carry the nodes' role by pod identity",
        adding(
            record(
                "aws:eks/podIdentityAssociation:PodIdentityAssociation",
                "way",
                {"clusterName": "main", "namespace": "training", "serviceAccount": "train", "roleArn": NODES},
            )
        ),
        NODE_ROLE,
    ),
    Planted(
        "an add-on that carries the nodes' role",
        adding(
            record(
                "aws:eks/addon:Addon",
                "way",
                {"clusterName": "main", "addonName": "coredns", "serviceAccountRoleArn": NODES, "tags": TAGS},
            )
        ),
        NODE_ROLE,
    ),
    Planted(
        "nodes that may edit the cluster by an access policy",
        adding(
            record(
                "aws:eks/accessPolicyAssociation:AccessPolicyAssociation",
                "way",
                {
                    "clusterName": "main",
                    "principalArn": NODES,
                    "policyArn": "arn:aws:eks::aws:cluster-access-policy/AmazonEKSEditPolicy",
                    "accessScope": {"type": "cluster"},
                },
            )
        ),
        NODE_ROLE,
    ),
    # Others than the nodes.
    Planted(
        "every action by a user's inline policy",
        adding(iam("UserPolicy", user="u", policy=policy("*"))),
        ("iam-no-wildcard-actions",),
        ("CKV_AWS_62", "CKV_AWS_63", "CKV_AWS_40"),
    ),
    Planted(
        "every action of a service by a group's inline policy",
        adding(iam("GroupPolicy", group="g", policy=policy("iam:*"))),
        ("iam-no-wildcard-actions",),
    ),
    Planted(
        "a group of an access entry that administers the cluster",
        adding(
            record(
                "aws:eks/accessEntry:AccessEntry",
                "way",
                {"clusterName": "main", "principalArn": DEVELOPER, "kubernetesGroups": ["system:masters"]},
            )
        ),
        ("cluster-admins-named",),
    ),
    Planted(
        "a view of every Secret by an access policy",
        adding(
            record(
                "aws:eks/accessPolicyAssociation:AccessPolicyAssociation",
                "way",
                {
                    "clusterName": "main",
                    "principalArn": DEVELOPER,
                    "policyArn": "arn:aws:eks::aws:cluster-access-policy/AmazonEKSAdminViewPolicy",
                    "accessScope": {"type": "cluster"},
                },
            )
        ),
        ("cluster-admins-named",),
    ),
    Planted("a password of a user", adding(iam("UserLoginProfile", user="u")), ("iam-no-long-lived-keys",)),
    # Who takes a role, and who reads a document's owner.
    Planted(
        "a role for every account's role of a name",
        adding(trusting({"AWS": "arn:aws:iam::*:role/deploy"})),
        ("iam-trust-named",),
    ),
    Planted(
        "a role for everybody who speaks TLS",
        adding(trusting("*", {"Bool": {"aws:SecureTransport": "true"}})),
        ("iam-trust-named",),
    ),
    Planted(
        "a role for every repository",
        adding(
            trusting(
                {"Federated": f"arn:aws:iam::{ACCOUNT}:oidc-provider/{GITHUB}"},
                {"StringLike": {f"{GITHUB}:sub": "repo:*", f"{GITHUB}:aud": "sts.amazonaws.com"}},
                "sts:AssumeRoleWithWebIdentity",
            )
        ),
        ("iam-trust-named",),
    ),
    Planted(
        "a bucket for everybody by grants of an access list",
        adding(
            record(
                "aws:s3/bucketAcl:BucketAcl",
                "way",
                {
                    "bucket": "acme-data",
                    "accessControlPolicy": {
                        "grants": [
                            {
                                "permission": "READ",
                                "grantee": {"type": "Group", "uri": "http://acs.amazonaws.com/groups/global/AllUsers"},
                            }
                        ],
                        "owner": {"id": "x"},
                    },
                },
            )
        ),
        ("buckets-no-public-acl",),
    ),
    Planted(
        "a bucket for everybody by the policy in the bucket",
        setting(BUCKET, ("policy",), document({**ANYBODY, "Action": "s3:GetObject"})),
        ("bucket-policies-name-principals",),
    ),
    Planted(
        "a secret for everybody by the policy in the secret",
        adding(
            record(
                "aws:secretsmanager/secret:Secret",
                "way",
                {"name": "x", "policy": document({**ANYBODY, "Action": "secretsmanager:GetSecretValue"}), "tags": TAGS},
            )
        ),
        ("bucket-policies-name-principals",),
    ),
    Planted(
        "a replica of a key for everybody",
        adding(
            record(
                "aws:kms/replicaKey:ReplicaKey",
                "way",
                {"primaryKeyArn": "k", "policy": document({**ANYBODY, "Action": "kms:*"}), "tags": TAGS},
            )
        ),
        ("key-policies-name-principals",),
    ),
    # What the network offers.
    Planted(
        "SSH for the world by the newer ingress rule over IPv6",
        # CKV_AWS_24 compares the range letter by letter here, so it never finds this one.
        adding(ingress("way", ipProtocol="tcp", fromPort=22, toPort=22, cidrIpv6="::/0")),
        ("network-no-world-ingress",),
    ),
    Planted(
        "the world in two halves",
        adding(
            *(
                ingress(f"half-{i}", ipProtocol="tcp", fromPort=22, toPort=22, cidrIpv4=half)
                for i, half in enumerate(("0.0.0.0/1", "128.0.0.0/1"))
            )
        ),
        ("network-no-world-ingress",),
    ),
    Planted(
        "a public address by an interface of the launch template",
        setting(TEMPLATE, ("networkInterfaces", 0, "associatePublicIpAddress"), True),
        ("machines-no-public-address",),
    ),
    Planted(
        "a public address that is bound to a machine",
        adding(record("aws:ec2/eip:Eip", "way", {"instance": "i-1", "domain": "vpc", "tags": TAGS})),
        ("machines-no-public-address",),
    ),
    Planted(
        "a load balancer on the internet by a service",
        adding(kubernetes("Service", "core/v1", spec={"type": "LoadBalancer", "selector": {"app": "x"}})),
        ("services-inside-the-network",),
    ),
    Planted(
        "a function that anybody calls",
        adding(
            record("aws:lambda/functionUrl:FunctionUrl", "way", {"functionName": "f", "authorizationType": "NONE"}),
        ),
        ("functions-not-public",),
        ("CKV_AWS_258",),
    ),
    Planted(
        "a machine image for everybody",
        adding(record("aws:ec2/amiLaunchPermission:AmiLaunchPermission", "way", {"imageId": "ami-1", "group": "all"})),
        ("images-not-public",),
    ),
    Planted(
        "the world in a prefix list",
        adding(
            record(
                "aws:ec2/managedPrefixList:ManagedPrefixList",
                "way",
                {"name": "offices", "addressFamily": "IPv4", "maxEntries": 1, "entries": [{"cidr": "0.0.0.0/0"}]},
            ),
            ingress("way", ipProtocol="tcp", fromPort=22, toPort=22, prefixListId="pl-1"),
        ),
        ("network-no-world-ingress",),
    ),
    Planted(
        "an object for everybody",
        adding(
            record(
                "aws:s3/bucketObjectv2:BucketObjectv2",
                "way",
                {"bucket": "acme-data", "key": "weights", "acl": "public-read"},
            )
        ),
        ("buckets-no-public-acl",),
    ),
    Planted(
        "a bucket inside a template",
        adding(record("aws:cloudformation/stack:Stack", "way", {"name": "way", "templateBody": "{}"})),
        ("resources-of-readable-kinds",),
    ),
    Planted(
        "a bucket of another provider",
        adding(record("aws-native:s3:Bucket", "way", {"bucketName": "way"})),
        ("resources-of-readable-kinds",),
    ),
    # Rights inside the cluster.
    Planted(
        "a right for who has not signed in",
        adding(
            kubernetes(
                "ClusterRoleBinding",
                roleRef={"kind": "ClusterRole", "name": "view"},
                subjects=[{"kind": "Group", "name": "system:unauthenticated"}],
            )
        ),
        ("roles-not-for-everybody",),
    ),
    Planted(
        "a role that may give itself rights",
        adding(rights(["clusterroles"], ["escalate", "bind"])),
        ("roles-give-no-more-rights",),
    ),
    Planted(
        "a role that reads every Secret", adding(rights(["secrets"], ["get", "list"])), ("roles-give-no-more-rights",)
    ),
    Planted(
        "a role that reaches the kubelet through the API server",
        adding(rights(["nodes/proxy"], ["get"])),
        ("roles-give-no-more-rights",),
    ),
    Planted(
        "a key in a ConfigMap",
        adding(kubernetes("ConfigMap", "core/v1", data={"credentials": "AKIA" + "IOSFODNN7EXAMPLE"})),
        ("configuration-holds-no-credentials",),
    ),
    Planted(
        "a token in the environment of a job",
        setting(JOB, (*CONTAINER, "env"), [{"name": "TOKEN", "value": "hf_" + "a" * 34}]),
        ("configuration-holds-no-credentials",),
    ),
    Planted(
        "a kernel setting of the node in a job",
        setting(JOB, (*POD, "securityContext", "sysctls"), [{"name": "kernel.msgmax", "value": "1"}]),
        ("pods-share-nothing-with-the-host",),
    ),
    # Pools and logs.
    Planted(
        "cards of a batch environment",
        adding(
            record(
                "aws:batch/computeEnvironment:ComputeEnvironment",
                "way",
                {
                    "type": "MANAGED",
                    "computeResources": {
                        "type": "EC2",
                        "instanceTypes": ["p5.48xlarge"],
                        "maxVcpus": 192000,
                        "subnets": ["subnet-1"],
                    },
                },
            )
        ),
        ("machines-bought-by-known-kinds",),
    ),
    Planted(
        "cards on demand by a pool of Karpenter without a limit",
        adding(
            record(
                "kubernetes:karpenter.sh/v1:NodePool",
                "way",
                {
                    "spec": {
                        "template": {
                            "spec": {
                                "requirements": [
                                    {
                                        "key": "node.kubernetes.io/instance-type",
                                        "operator": "In",
                                        "values": ["p5.48xlarge"],
                                    }
                                ]
                            }
                        }
                    }
                },
            )
        ),
        ("cards-within-the-limit",),
    ),
    Planted(
        "logs of the control plane that the service keeps for ever",
        both(setting(CLUSTER, ("name",), "renamed")),
        ("log-groups-declared",),
    ),
    Planted(
        "an EFA interface without a group beside one that has it",
        setting(TEMPLATE, ("networkInterfaces", 1, "securityGroups"), REMOVE),
        ("efa-groups-open-to-themselves",),
    ),
    Planted(
        "nodes of a role that this stack does not declare, with a policy for it",
        both(
            setting(TRAINING, ("nodeRoleArn",), f"arn:aws:iam::{ACCOUNT}:role/elsewhere"),
            adding(iam("RolePolicy", role="elsewhere", policy=BUCKETS)),
        ),
        NODE_ROLE,
    ),
)
