"""Training metrics and heartbeats for any trainer: three lines, no dependency.

from workload.telemetry import Telemetry

run = Telemetry.from_environment()
run.step(step, loss=loss, tokens=tokens_of_all_ranks)  # in the loop
"""

from workload.telemetry.telemetry import Telemetry

__all__ = ["Telemetry"]
