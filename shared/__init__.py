"""What two studies or more use: the judge client, metrics, params, reporting."""
