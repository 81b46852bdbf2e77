"""Conditions on spans, said once for all the SQL that needs them."""

from .. import conventions as c
from .promotion import MODEL_OPERATIONS

OWN = f"scope_name = '{c.SCOPE_NAME}'"
"""Sent by whyspan."""
FOREIGN = f"scope_name IS DISTINCT FROM '{c.SCOPE_NAME}'"
MODEL = "operation IN ({})".format(", ".join(f"'{name}'" for name in MODEL_OPERATIONS))
CALL = f"{MODEL} AND {FOREIGN}"
"""A model call of an agent, nested or not."""
