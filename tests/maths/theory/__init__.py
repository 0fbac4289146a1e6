"""The paper's claims and the project's corrections, in exact arithmetic: nothing is sampled."""
