"""Arithmetic: what compiled code is made of, from exp to budgets; nothing here knows a learner."""
