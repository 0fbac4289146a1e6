"""Attacks on what only some ways of publishing have. Start with the module of the way.

Enters: a case or a target, a stream. Leaves: outcomes. Must not know: how a report looks.

    common_values         values that may repeat in a group
    vectors               columns that are published together
    bounded_odds          noise before groups: the bound K on a linked row
    neighbouring_tables   noise before groups: epsilon, with tables that differ in one row
"""
