"""What owners of clusters and organisations declare in labels, read strictly."""
