"""Laws: controllers with equations in a unit file, or in the table ``law`` of a system's component.

`rtcvt.law.file` is the schema, `rtcvt.law.program` compiles the equations to a list of operations, and
`rtcvt.law.kernels` executes it. The list is data: a new law needs no compiler, and has the same bits in Python, in C
and on every platform.
"""
