"""One file for each format: `check(case, tools)` answers what its reader saw, or raises."""
