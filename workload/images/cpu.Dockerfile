# Staging, checkpoint care, storage tests and preprocessing on nodes without cards. Build from the repository's root:
#   docker build -f workload/images/cpu.Dockerfile --build-arg REGISTRY=ACCOUNT.dkr.ecr.REGION.amazonaws.com .
# REGISTRY is the account's own registry; it has no default, so that no build reaches out by accident. ECR_PUBLIC is its pull-through prefix for
# the public ECR.
ARG REGISTRY
ARG ECR_PUBLIC=ecr-public
# Base: the node's own distribution, whose repository has the Lustre client (`lfs`) and whose python3 is 3.9, the oldest these programs run on.
# Source: public.ecr.aws/amazonlinux/amazonlinux, release 2023.9.20251117.1; a release tag also pins the versions that dnf installs.
FROM ${REGISTRY}/${ECR_PUBLIC}/amazonlinux/amazonlinux:2023.9.20251117.1

RUN dnf install --assumeyes --setopt=install_weak_deps=False awscli-2 fio lustre-client python3 shadow-utils \
    && dnf clean all

ENV PYTHONPATH=/opt/trainshed \
    PYTHONUNBUFFERED=1

COPY workload /opt/trainshed/workload

# The same user on every image: files on shared storage belong to it.
RUN groupadd --gid 10001 trainer && useradd --uid 10001 --gid trainer --create-home --shell /sbin/nologin trainer
USER 10001:10001
WORKDIR /home/trainer
CMD ["python3", "-m", "workload.data.stage", "--help"]
