"""How the site is built: one room for each thing on it."""
