"""The paper's empirical study, done again: its own choices beside ours and beside other methods.

    data/           the table: ACS 2024, files as the Census Bureau ships them, or a made-up census
    pool            count queries: random predicates, each with every sensitive value
    measures        estimates and truth -> relative errors by selectivity
    experiments/    one file per kind of measurement; each declares its cells and measures one
    grid            all cells: what is measured, and how often
    runner          cells done in parallel, kept on disk, skipped when they are there
    results         cells -> tidy CSV files (results/), and back
    charts/         CSV files -> SVG files (figures/); sees nothing else
    page/           CSV files -> docs/study.md: every number and every verdict

`python -m study --help` says how to run it. Not part of the installed package.
"""
