"""The planner: from a model's shape to cards, days, bytes and money, from first principles and a few dated constants.

Hides every formula behind `plan(request)`; nothing here reads a file, a clock or the network except its own data.
"""
