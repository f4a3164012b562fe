"""The road every capability is reached by: what a call is, the ports it passes, the pipeline that walks them."""
