"""Questions that are more than one tally, and what is handed in with them.

Enters: questions, tables and parameters of an analyst. Leaves: answers. Must not know: engines,
which method estimates. Loaded only by a question that needs it.

    assembly    groups by parts, grouping sets, values that occur: one answer from several tallies
    inputs      parameters and lookup tables, whatever they come in
    describing  what a release holds, without a count
"""
