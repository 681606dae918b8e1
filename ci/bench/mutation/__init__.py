"""Changes of specs, core and checks that were not foreseen, and whether they are noticed."""
