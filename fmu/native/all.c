/* The whole unit in one translation unit, so that nothing but the FMI functions is visible from outside.

   core.c     FMI 2.0 for co-simulation and model exchange, the same for every unit
   kernels.c  the equations, translated from the kernels of rtcvt
   model.c    sizes, start values and the table of variables of this unit

   Compile with the unit's own folder and that of the FMI headers on the include path, without -ffast-math and, for the
   same bits on every platform, with -ffp-contract=off. For a tool that links several units into one program, define
   FMI2_FUNCTION_PREFIX, for instance as MyUnit_; it then stands before the name of each FMI function. */

#include "kernels.c"
#include "model.c"
#include "core.c"
