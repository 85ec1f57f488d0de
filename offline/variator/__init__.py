"""From runs of the full pushbelt model to a reduced model of the variator."""
