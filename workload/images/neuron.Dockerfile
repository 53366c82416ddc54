# Training on Trainium. Build from the repository's root:
#   docker build -f workload/images/neuron.Dockerfile --build-arg REGISTRY=ACCOUNT.dkr.ecr.REGION.amazonaws.com .
# REGISTRY is the account's own registry; it has no default, so that no build reaches out by accident. ECR_PUBLIC is its pull-through prefix for
# the public ECR.
ARG REGISTRY
ARG ECR_PUBLIC=ecr-public
# Base: PyTorch 2.9, torch-neuronx, compiler, runtime, Neuron's collectives and the EFA libraries, of one SDK release. The node's driver is the AMI's.
# Source: Neuron documentation, "Update PyTorch in a Deep Learning Container" (2026-03-30). SDK 2.32 has no training image; 2.33's needs Trn2 or later.
FROM ${REGISTRY}/${ECR_PUBLIC}/neuron/pytorch-training-neuronx:2.9.0-neuronx-py312-sdk2.29.0-ubuntu24.04

USER root
RUN apt-get update \
    && apt-get install --yes --no-install-recommends fio \
    && rm -rf /var/lib/apt/lists/*

ENV PYTHONPATH=/opt/trainshed \
    PYTHONUNBUFFERED=1

COPY workload /opt/trainshed/workload

# The same user on every image: files on shared storage belong to it.
RUN groupadd --gid 10001 trainer && useradd --uid 10001 --gid trainer --create-home --shell /usr/sbin/nologin trainer
USER 10001:10001
WORKDIR /home/trainer
CMD ["python3", "-m", "workload.preflight.gate", "--help"]
