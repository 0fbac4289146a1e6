"""How everything that is drawn looks: colours, and the one stylesheet of all pages.

Enters: nothing. Leaves: colours of a light and a dark theme, CSS text. Must not know: pages,
charts, what is shown.
"""
