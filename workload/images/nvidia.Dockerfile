# Training on NVIDIA cards over EFA. Build from the repository's root:
#   docker build -f workload/images/nvidia.Dockerfile --build-arg REGISTRY=ACCOUNT.dkr.ecr.REGION.amazonaws.com .
# REGISTRY is the account's own registry; it has no default, so that no build reaches out by accident. DOCKER_HUB is its pull-through prefix for
# Docker Hub.
ARG REGISTRY
ARG DOCKER_HUB=docker-hub
# Base: CUDA 12.8 runs on any driver from 525 on (CUDA minor version compatibility), which the AL2023 and Bottlerocket NVIDIA families exceed.
# Source: Docker Hub nvidia/cuda, the same images as NGC's; read 2026-11-30.
FROM ${REGISTRY}/${DOCKER_HUB}/nvidia/cuda:12.8.1-base-ubuntu24.04

# EFA software: libfabric 2.6.0amzn1.0 and aws-ofi-nccl 1.21.1 in one. Source: EC2 User Guide, EFA release notes, 1.50.0 of 2026-08-21.
ARG EFA_INSTALLER_VERSION=1.50.0
# Give the archive's SHA-256 to have it checked; AWS publishes a signature and no checksum.
ARG EFA_INSTALLER_SHA256=""
# torch 2.8.0 brings CUDA 12.8 libraries and NCCL 2.27.3 in its own wheels, so none come from the base. Source: its package metadata.
ARG TORCH_VERSION=2.8.0
# Another package index, such as the account's mirror.
ARG PIP_INDEX_URL=""

ENV DEBIAN_FRONTEND=noninteractive
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates curl fio python3 python3-venv \
    && rm -rf /var/lib/apt/lists/*

# The kernel module and limits are the node's; only user-space libraries belong here.
RUN curl --fail --silent --show-error --location --output /tmp/efa.tar.gz \
        "https://efa-installer.amazonaws.com/aws-efa-installer-${EFA_INSTALLER_VERSION}.tar.gz" \
    && if [ -n "${EFA_INSTALLER_SHA256}" ]; then echo "${EFA_INSTALLER_SHA256}  /tmp/efa.tar.gz" | sha256sum --check; fi \
    && tar --extract --gzip --file /tmp/efa.tar.gz --directory /tmp \
    && apt-get update \
    && cd /tmp/aws-efa-installer \
    && ./efa_installer.sh --yes --skip-kmod --skip-limit-conf --no-verify \
    && rm -rf /tmp/efa.tar.gz /tmp/aws-efa-installer /var/lib/apt/lists/*

RUN python3 -m venv /opt/venv \
    && /opt/venv/bin/pip install --no-cache-dir ${PIP_INDEX_URL:+--index-url "${PIP_INDEX_URL}"} "torch==${TORCH_VERSION}"

# NCCL finds its network plugin by library path; a plugin it can't find means TCP without a word (gate.py looks for that).
ENV PATH=/opt/venv/bin:/opt/amazon/efa/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    LD_LIBRARY_PATH=/opt/amazon/ofi-nccl/lib:/opt/amazon/efa/lib \
    PYTHONPATH=/opt/trainshed \
    PYTHONUNBUFFERED=1

COPY workload /opt/trainshed/workload

# Ubuntu 24.04 has a user with id 1000 already; files on shared storage belong to this one on every image.
RUN groupadd --gid 10001 trainer && useradd --uid 10001 --gid trainer --create-home --shell /usr/sbin/nologin trainer
USER 10001:10001
WORKDIR /home/trainer
CMD ["python", "-m", "workload.trainer.train", "--help"]
