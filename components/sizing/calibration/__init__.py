"""Published runs, the fit of the constants, and a team's own runs."""
