"""Laws of one's own: controllers whose equations stand in a unit file, or in the table ``law`` of a system's component.

`rtcvt.law.file` is the schema, `rtcvt.law.program` makes a list of operations of the equations, and
`rtcvt.law.kernels` executes it. The list is data: a new law needs no compiler, and has the same bits in Python, in C
and on every platform.
"""
