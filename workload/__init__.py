"""Programs that run inside the cluster's containers: staging, data order, checkpoints, preflight, heartbeat, reference
trainer.

They keep to the standard library of Python 3.9 (the trainer adds torch) and import nothing else of the project, so that
any image can carry them. Each runs as `python -m workload.NAME` or as a file, `python workload/NAME.py`.
"""
