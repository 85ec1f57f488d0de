"""The former name of `rtcvt.offline.belt`, for scripts that import `runs` from here."""
