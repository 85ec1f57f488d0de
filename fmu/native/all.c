/* The whole unit in one translation unit, so that nothing but the FMI functions is visible from outside.

   kernels.c  the equations, translated from the kernels of rtcvt
   model.c    sizes, start values and the table of variables of this unit
   fmi2.c     or fmi3.c, as model.c says: the functions of FMI 2.0 or 3.0 for co-simulation and model exchange
   core.c     what they do, the same for every unit and both versions

   Compile with the unit's own folder and that of the FMI headers on the include path, without -ffast-math and, for the
   same bits on every platform, with -ffp-contract=off. The name of each FMI function begins with the unit's identifier
   and an underscore, as the standard asks, so that several units can be linked into one program; FMI2_FUNCTION_PREFIX
   is another beginning. For a shared library define FMI2_OVERRIDE_FUNCTION_PREFIX: then there is none. In FMI 3.0 the
   names of the two are FMI3_... */

#include "kernels.c"
#include "model.c"
#include FMI_FACE
