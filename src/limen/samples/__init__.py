"""Small servers that come with Limen, to try it out without installing anything else."""
