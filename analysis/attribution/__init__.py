"""Attribution: which pieces of a request a decision depends on, found by removing them and sampling again.

The core is pure: `attribute.attribute` yields rounds of draws and is sent their outcomes; it reads no clock and calls
no model. Nothing is imported here: those who only name pieces (`problem`) need no statistics.
"""
