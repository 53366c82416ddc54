"""Changes worth making, each planned again, and the frontier of days and money."""
