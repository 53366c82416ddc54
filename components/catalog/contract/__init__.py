"""The contract between a job and the program in its containers: environment, files, signals, exit codes, metrics.

Each name stands here once. `docs/job_contract.py` writes `docs/job-contract.md` and `workload/contract.py` from it, and
a test holds all three equal.
"""

from components.catalog.contract.environment import VARIABLES
from components.catalog.contract.files import CONDEMNED_TAG, FILES
from components.catalog.contract.metrics import METRICS, WORDS
from components.catalog.contract.outcomes import EXIT_CODES, SIGNALS
from components.catalog.contract.table import ContractMetric, ExitCode, File, Signal, Tag, Variable, Verdict

__all__ = [
    "CONDEMNED_TAG",
    "EXIT_CODES",
    "FILES",
    "METRICS",
    "SIGNALS",
    "VARIABLES",
    "WORDS",
    "ContractMetric",
    "ExitCode",
    "File",
    "Signal",
    "Tag",
    "Variable",
    "Verdict",
]
