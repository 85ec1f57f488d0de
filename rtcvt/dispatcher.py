"""How kernels are compiled: numba's dispatcher, with two differences.

- Machine code is made for a function that Python calls, not for those that only other kernels call. Numba makes it for
  each, with that of all that it calls in turn; what is inlined in the end is made again on every floor. Their optimised
  intermediate code is kept, in memory and on disk, and a first call from Python makes the machine code. Bits are the
  same: what callers inline is the same.
- A literal, or a member of a table (`rtcvt.table`), is an int64 or bool like any other: left alone, numba compiles a
  kernel once more for each literal that another one passes to it.
"""

from typing import Any

import numba.types
from numba.core.caching import CompileResultCacheImpl
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher

from rtcvt.stamp import stamped

__all__ = ["Dispatcher", "KernelCompiler"]

_floors = 0  # kernels that are being compiled since another one calls them; changed under numba's lock only


class _Library(JITCodeLibrary):
    """The code of a kernel, which becomes machine code when its address is asked for."""

    native = False

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        self._ensure_finalized()
        if _floors:
            return 0
        if not self.native:
            self.native = True
            super()._finalize_final_module()
        return super().get_pointer_to_function(name)

    def serialize_using_object_code(self) -> Any:
        return super().serialize_using_object_code() if self.native else self.serialize_using_bitcode()

    @property
    def codegen(self) -> Any:
        return self._codegen if self.native else _NoEnvironment


class _NoEnvironment:
    """Stands for numba's code generator where there is no machine code that could have an environment."""

    @staticmethod
    def set_env(name: str, environment: Any) -> None:
        pass


class KernelCompiler(Compiler):
    """Numba's compiler of one function, into a library of ours."""

    def define_pipelines(self) -> Any:
        """Numba's passes."""
        if self.state.library is None:
            self.state.library = _Library(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
            self.state.library.enable_object_caching()
        return super().define_pipelines()


class _Kept(CompileResultCacheImpl):
    """What is on disk becomes a library of ours again."""

    def rebuild(self, target_context: Any, reduced_data: Any) -> Any:
        codegen = target_context.codegen()
        codegen._library_class = _Library
        try:
            return super().rebuild(target_context, reduced_data)
        finally:
            del codegen._library_class


class Dispatcher(CPUDispatcher):
    """A compiled function."""

    _cache: Any

    def enable_caching(self) -> None:
        """Keep machine code on disk."""
        stamped(self, _Kept)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Of a call in another kernel."""
        global _floors
        _floors += 1
        try:
            return super().get_call_template([_plain(a) for a in args], kws)
        finally:
            _floors -= 1

    def add_overload(self, cres: Any) -> None:
        """Know what was compiled; what Python can call, numba's fast way from Python finds."""
        if cres.library.native:
            super().add_overload(cres)
        else:
            self.overloads[tuple(cres.signature.args)] = cres  # Python's first call comes to `compile`

    def compile(self, sig: Any) -> Any:
        """Compile for a signature; the function that Python calls, with machine code."""
        with global_compiler_lock:
            entry = super().compile(sig)
            if _floors:
                return entry
            cres: Any = self.overloads[tuple(numba.core.sigutils.normalize_signature(sig)[0])]
            if not cres.library.native:
                kept = getattr(cres.library, "_compiled_object", None) is not None  # on disk
                if not kept:
                    cres.library.enable_object_caching()
                entry = self.targetctx.get_executable(cres.library, cres.fndesc, cres.environment)
                cres = cres._replace(entry_point=entry)
                self.targetctx.insert_user_function(entry, cres.fndesc, [cres.library])
                self.add_overload(cres)
                if not kept:
                    self._cache.save_overload(sig, cres)
            for environment in cres._find_referenced_environments():
                cres.library.codegen.set_env(environment.env_name, environment)
            return entry


def _plain(kind: Any) -> Any:
    return kind.dtype if isinstance(kind, numba.types.IntEnumMember) else numba.types.unliteral(kind)
