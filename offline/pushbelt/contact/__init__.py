"""Contacts of the planar elements, the sheaves they press, and the ledger that their works are booked in."""
