"""Real-time models of gear systems and variators, derived from full models.

See ``README.md`` for the command line and ``rtcvt.pog`` for the theory.
"""

__version__ = "0.1.0"
