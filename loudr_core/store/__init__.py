"""Object stores: a folder, or an S3 bucket."""
