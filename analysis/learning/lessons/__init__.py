"""Lessons: proposed by roles, measured on pairs of cases, admitted by the gate, kept in a playbook."""
