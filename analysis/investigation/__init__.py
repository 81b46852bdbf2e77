"""What many decisions have in common: the evidence of `why` about each, pooled over all of them."""
