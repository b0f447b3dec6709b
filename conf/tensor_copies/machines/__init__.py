"""What other machines give where they run the same code: run, keep, compare."""
