"""The gate over a gang: every worker's gate joins the first one's, which asks, times, compares and names.

Nothing waits longer than a limit that is given: a worker that doesn't come, stops or dies is named instead of waited
for.
"""
