"""The only part that speaks to database drivers: opens stores, frames transactions, keeps schemas up to date."""
