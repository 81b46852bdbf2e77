"""The evidence that whyspan's verdicts rest on: e-values, valid at any look, and the intervals that belong to them.

`why`, `fix`, regression tests, guard cases, lessons and sweeps all decide with these functions and nothing else:
`evalues` compares two rates, `noninferiority` shows that a rate is kept or lost, `sequential` tests one rate, `betting`
tests a mean of scores, `intervals` says how large it all is, and `levels` shares the error rate among many tests.
"""
