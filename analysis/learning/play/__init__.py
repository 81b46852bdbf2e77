"""Playing: who is asked, within which budget, and what a play of a case was."""
