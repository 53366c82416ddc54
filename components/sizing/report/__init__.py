"""A plan as data, tables, pictures and a page."""
