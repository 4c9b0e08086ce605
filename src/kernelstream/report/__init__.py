"""What people see of runs: numbers in words, tables in a terminal, curves, and one self-contained page."""
