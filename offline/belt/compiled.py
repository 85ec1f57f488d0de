"""The decorator of the belt drives' kernels: sums may be contracted and reordered; NaN and Inf keep their meaning."""

from rtcvt.kernel import compiler

compiled = compiler(fastmath={"contract", "reassoc", "arcp", "nsz"})
