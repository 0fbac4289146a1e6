"""Any source as blocks of plain columns."""
