"""Where rows are kept until they are written, and the threads that work on them.

Enters: encoded columns, bytes, functions. Leaves: the same columns and bytes again; results in
order. Must not know: what they mean. `memory` divides the memory that a publication may use and
keeps columns in it; what does not fit goes to `spill`, encrypted on disk; `parallel` runs threads.
"""
