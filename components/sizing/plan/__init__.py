"""From a task file to a plan: request, search, plan, sweeps."""
