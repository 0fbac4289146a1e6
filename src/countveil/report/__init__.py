"""Results as pages: HTML with inline SVG, complete in one file.

Enters: figures, tables, charts and sentences, some of their text from data that may be hostile.
Leaves: one page that loads nothing from anywhere. Must not know: engines, where figures come from.
Start at `page`; the `..._page` modules fill it. Nothing is imported here: whoever draws a chart
need not load what pages are made of.
"""
