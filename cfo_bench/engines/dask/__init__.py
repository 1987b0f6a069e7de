"""Many runs on a Dask cluster."""
