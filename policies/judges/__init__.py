"""Judges: programs of others that hold the packs' word against their own, each in an environment of its own."""
