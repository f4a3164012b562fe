"""From files and addresses outside to documents inside."""
