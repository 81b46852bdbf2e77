"""The three scenarios by name."""

from . import inbox, ops, refund

SCENARIOS = {scenario.name: scenario for scenario in (inbox.SCENARIO, refund.SCENARIO, ops.SCENARIO)}
