"""Plans of a stack: addresses, node groups, placement, quotas, blocks, cost, and the rules that say what does
not fit.
"""
