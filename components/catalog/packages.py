"""Amazon Linux 2023's packages: where a machine or a container in a VPC gets them from.

There are two sources of the same files. Container images ask a public CDN, which no VPC endpoint leads to; EC2's own
images ask a bucket of their region, which the S3 gateway endpoint reaches.
"""

from __future__ import annotations

from datetime import date
from typing import Final

from components.catalog import regions
from components.catalog.pins import Origin

KEY_FILE: Final = "/etc/pki/rpm-gpg/RPM-GPG-KEY-amazon-linux-2023"  # in every image, whichever way it asks
ORIGIN: Final = Origin(
    as_of=date(2026, 11, 30),
    source=(
        "amazonlinux.repo of the AMI (amazon-linux-repo-s3) and of the container image (amazon-linux-repo-cdn), as"
        " printed in public; `dnf repolist` through a gateway endpoint in shamimice03/aws-secure-env"
    ),
)


def bucket(region: str) -> str:
    """The bucket of that region; the last word is the same everywhere."""
    return f"al2023-repos-{region}-de612dc2"


def mirror_list(region: str) -> str:
    """dnf's `mirrorlist` for the bucket, with dnf's own variables left in."""
    host = f"{bucket(region)}.s3.dualstack.{region}.{regions.domain(region)}"
    return f"https://{host}/core/mirrors/$releasever/$basearch/mirror.list"
