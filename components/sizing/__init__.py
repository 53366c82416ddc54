"""The planner: from a model's shape to cards, days, bytes and money, from first principles and a few dated constants.

`plan(request)` is the one entry. Nothing here reads a file, a clock or the network except its own data.
"""
