"""Everything a user writes, as frozen values: the stack file and the task file.

This layer turns text into values and problems. It knows nothing of AWS' rules beyond what a shape can say.
"""

from components.spec.reading.reader import Reading, read_config, read_stack
from components.spec.stack import StackSpec

__all__ = ["Reading", "StackSpec", "read_config", "read_stack"]
