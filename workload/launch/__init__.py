"""The launcher: starts a node's processes, keeps the gang of all nodes together, and ends with the first failure's
code. `python3 -m workload.launch -- COMMAND...`.
"""
