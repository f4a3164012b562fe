"""Who may do what, and what was done: policy, approvals and the audit trail, behind the ports of the road."""
