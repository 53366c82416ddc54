"""The storage of the good stack: a bucket with all that belongs to it, file systems, images."""

from __future__ import annotations

from tests.policies.good.records import (
    KEY_ARN,
    TAGS,
    Record,
    document,
    record,
    urn,
)


def bucket_access() -> list[Record]:
    """The bucket and who may read it."""
    bucket = urn("aws:s3/bucket:Bucket", "data")
    tls = document(
        {
            "Sid": "OnlyTls",
            "Effect": "Deny",
            "Principal": "*",
            "Action": "s3:*",
            "Resource": ["arn:aws:s3:::acme-data", "arn:aws:s3:::acme-data/*"],
            "Condition": {"Bool": {"aws:SecureTransport": "false"}},
        }
    )
    return [
        record(
            "aws:s3/bucket:Bucket", "data", {"bucket": "acme-data", "forceDestroy": False, "tags": TAGS}, protect=True
        ),
        record(
            "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock",
            "data",
            {
                "bucket": "acme-data",
                "blockPublicAcls": True,
                "blockPublicPolicy": True,
                "ignorePublicAcls": True,
                "restrictPublicBuckets": True,
            },
            after=[bucket],
        ),
        record("aws:s3/bucketAcl:BucketAcl", "data", {"bucket": "acme-data", "acl": "private"}, after=[bucket]),
        record("aws:s3/bucketPolicy:BucketPolicy", "data", {"bucket": "acme-data", "policy": tls}, after=[bucket]),
    ]


def bucket_content() -> list[Record]:
    """How the bucket keeps what is in it."""
    bucket = urn("aws:s3/bucket:Bucket", "data")
    encryption = {"sseAlgorithm": "aws:kms", "kmsMasterKeyId": KEY_ARN}
    return [
        record(
            "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration",
            "data",
            {
                "bucket": "acme-data",
                "rules": [{"applyServerSideEncryptionByDefault": encryption, "bucketKeyEnabled": True}],
            },
            after=[bucket],
        ),
        record(
            "aws:s3/bucketVersioning:BucketVersioning",
            "data",
            {"bucket": "acme-data", "versioningConfiguration": {"status": "Enabled"}},
            after=[bucket],
        ),
        record(
            "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration",
            "data",
            {
                "bucket": "acme-data",
                "rules": [
                    {
                        "id": "end",
                        "status": "Enabled",
                        "abortIncompleteMultipartUpload": {"daysAfterInitiation": 7},
                        "noncurrentVersionExpiration": {"noncurrentDays": 30},
                    }
                ],
            },
            after=[bucket],
        ),
        record(
            "aws:s3/bucketLogging:BucketLogging",
            "data",
            {"bucket": "acme-data", "targetBucket": "acme-log", "targetPrefix": "data/"},
            after=[bucket],
        ),
    ]


def file_systems() -> list[Record]:
    """A lasting file system, and a scratch one that a bucket backs."""
    return [
        record(
            "aws:fsx/lustreFileSystem:LustreFileSystem",
            "train",
            {
                "id": "fs-1",
                "deploymentType": "PERSISTENT_2",
                "storageType": "SSD",
                "storageCapacity": 9600,
                "perUnitStorageThroughput": 500,
                "subnetIds": "subnet-1",
                "kmsKeyId": KEY_ARN,
                "copyTagsToBackups": True,
                "automaticBackupRetentionDays": 7,
                "metadataConfiguration": {"mode": "USER_PROVISIONED", "iops": 6000},
                "tags": TAGS,
            },
            protect=True,
        ),
        record(
            "aws:fsx/lustreFileSystem:LustreFileSystem",
            "warm",
            {
                "id": "fs-2",
                "deploymentType": "SCRATCH_2",
                "storageCapacity": 1200,
                "subnetIds": "subnet-1",
                "tags": TAGS,
            },
        ),
        record(
            "aws:fsx/dataRepositoryAssociation:DataRepositoryAssociation",
            "warm",
            {"fileSystemId": "fs-2", "dataRepositoryPath": "s3://acme-data", "fileSystemPath": "/data"},
        ),
    ]


def images() -> list[Record]:
    """A repository of images."""
    return [
        record(
            "aws:ecr/repository:Repository",
            "trainer",
            {
                "name": "trainer",
                "imageTagMutability": "IMMUTABLE",
                "imageScanningConfiguration": {"scanOnPush": True},
                "encryptionConfigurations": [{"encryptionType": "KMS", "kmsKey": KEY_ARN}],
                "tags": TAGS,
            },
        ),
        record(
            "aws:ecr/lifecyclePolicy:LifecyclePolicy", "trainer", {"repository": "trainer", "policy": '{"rules": []}'}
        ),
    ]
