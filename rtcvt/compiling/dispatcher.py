"""How kernels are compiled: numba's dispatcher, with three differences.

- Machine code is made for functions that Python calls, not for kernels that only other kernels call. Numba makes it for
  each kernel, including the code of all kernels that it calls; inlined code is compiled again on every level, and each
  kernel gets a wrapper for Python's objects. For kernels that only kernels call, the intermediate code alone is kept,
  in memory and on disk. A function that is called by Python and by kernels is compiled for each. Bits are the same,
  since callers inline the same code.
- A literal, or a member of a table (`rtcvt.table`), is an int64 or bool like any other: left alone, numba
  compiles a kernel once more for each literal that another one passes to it.
- Results of numba's type inference about its own functions are cached, its messages about failed attempts have no
  colours, and garbage collection is off during compilation.
"""

import gc
import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numba.types
from llvmlite.binding import Linkage, create_new_module_pass_manager
from numba.core import base, cgutils, errors, ir
from numba.core.caching import CompileResultCacheImpl
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_lock import global_compiler_lock
from numba.core.cpu import CPUContext
from numba.core.registry import CPUDispatcher
from numba.core.types import Function
from numba.core.typing import Context
from numba.np import arrayobj

from rtcvt.compiling.stamp import stamped

_floors = 0  # kernels that are being compiled since another one calls them; changed under numba's lock only


class _Inner(JITCodeLibrary):
    """The code of a kernel that other kernels call: intermediate, without an address."""

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout  # its passes come again with those of the whole

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        self._ensure_finalized()
        return 0

    def serialize_using_object_code(self) -> Any:
        return self.serialize_using_bitcode()

    @property
    def codegen(self) -> Any:
        return _NoEnvironment


class _Simplified(_Inner):
    """Intermediate code of a kernel without inlining: calls are inlined when machine code of the whole is made.

    Units compile in two thirds of the time, to the same bits and at the same speed. Full models do not: a step of the
    planar pushbelt would be a sixth longer.
    """

    def _optimize_final_module(self) -> None:
        for function in self._final_module.functions:  # its own; those that it calls are simple already
            if not function.is_declaration and function.linkage != Linkage.linkonce_odr:
                passes, builder = self._codegen._function_pass_manager()
                passes.run(function, builder)
        passes = create_new_module_pass_manager()
        passes.add_global_dead_code_eliminate_pass()
        passes.run(self._final_module, self._codegen._pass_builder())


class _Whole(JITCodeLibrary):
    """The code of a kernel that Python calls, with that of all others in it."""

    def _optimize_final_module(self) -> None:
        """Make functions internal to the module, so that LLVM drops the unused fields of array arguments.

        They get unique names: LLVM's loader finds all functions of a process by name.
        """
        functions = [f for f in self._final_module.functions if not f.is_declaration]
        own = next(f.name for f in functions if f.linkage == Linkage.external)
        for function in functions:
            if function.linkage == Linkage.linkonce_odr:
                function.linkage = "internal"
                function.name = f"{function.name} in {own}"
        super()._optimize_final_module()


class _NoEnvironment:
    """Replaces numba's code generator where no machine code is made, so that there is no environment."""

    @staticmethod
    def set_env(name: str, environment: Any) -> None:
        pass


class _Typing(Context):
    """Numba's typing with a cache of the signatures of its functions. Numba would try dozens of signatures of an
    operator at each of thousands of places."""

    __slots__ = ("constants", "known")

    def __init__(self, numbas: Context):
        self.__dict__ = numbas.__dict__
        self.known: dict[Any, Any] = {}
        self.constants: dict[Any, Any] = {}

    def resolve_value_type(self, val: Any) -> Any:
        """The type of a value in a kernel, of functions remembered."""
        if not isinstance(val, (FunctionType, BuiltinFunctionType)):
            return super().resolve_value_type(val)
        if val not in self.constants:
            self.constants[val] = super().resolve_value_type(val)
        return self.constants[val]


class _Target(CPUContext):
    """Numba's generator of code, which would look through all that is registered for a conversion of each array."""

    def __init__(self, numbas: CPUContext):
        self.__dict__ = numbas.__dict__

    def get_function(self, fn: Any, sig: Any, _firstcall: bool = True) -> Any:
        """The generator of a call's code; as in numba, `NotImplementedError` means that there is none."""
        if fn == "__array__" and type(sig.args[0]) is numba.types.Array:
            raise NotImplementedError("an array is converted by nothing")
        return super().get_function(fn, sig, _firstcall)


_errors: Any = errors


class _Plain:
    """In place of colours for messages, which numba makes by the thousand and drops."""

    def __getattr__(self, name: str) -> Any:
        return str


@cache
def _typing(numbas: Context, flags: Any) -> _Typing:
    """Of kernels that are compiled with the same flags."""
    return _Typing(numbas)


def _call_type(self: Function, context: Context, args: Any, kws: Any) -> Any:
    """The signature of a call, as `Function.get_call_type` of numba's gives it."""
    if not isinstance(context, _Typing):
        return _numbas(self, context, args, kws)
    args = tuple(map(_number, args))
    key = self, args, tuple(kws.items())
    if key not in context.known:
        context.known[key] = _numbas(self, context, args, kws)
    return context.known[key]


_numbas: Any = Function.get_call_type
setattr(Function, "get_call_type", _call_type)  # noqa: B010


def _variables(self: ir.Inst, value: Any) -> list[Any]:
    """Those in a part of an instruction, as `Inst._rec_list_vars` of numba's gives them."""
    kind = type(value)
    if kind in _WITHOUT:
        return []
    if kind is ir.Var:
        return [value]
    if kind is dict:
        value = value.values()
    elif isinstance(value, ir.Inst):
        return value.list_vars()
    elif kind is not list and kind is not tuple:
        return _numbas_variables(self, value)
    return [each for part in value if type(part) not in _WITHOUT for each in _variables(self, part)]


_WITHOUT = {ir.Loc, str, int, bool, type(None), FunctionType, BuiltinFunctionType}
_numbas_variables: Any = ir.Inst._rec_list_vars
setattr(ir.Inst, "_rec_list_vars", _variables)  # noqa: B010
setattr(base, "_has_loc", cache(base._has_loc))  # noqa: B010


def _basic_indexing(context: Any, builder: Any, aryty: Any, ary: Any, types: Any, indices: Any, **check: Any) -> Any:
    """Pointer, shape and strides of an element or a view, as `arrayobj.basic_indexing` of numba's gives them.

    Of kernels whose indices count from the first element, as in C: without a look whether they count from the end.
    """
    plain = getattr(context, "from_first", False) and not check.get("boundscheck")
    kind, index = (*types, None)[0], (*indices, None)[0]
    if not plain or (aryty.ndim, aryty.layout, len(types)) != (1, "C", 1) or getattr(kind, "has_step", False):
        return _numbas_indexing(context, builder, aryty, ary, types, indices, **check)
    (size,), (stride,) = (cgutils.unpack_tuple(builder, of, 1) for of in (ary.shape, ary.strides))
    if isinstance(kind, numba.types.Integer):
        return builder.gep(ary.data, [context.cast(builder, index, kind, numba.types.intp)]), [], []
    view = context.make_helper(builder, kind, value=index)
    end = builder.select(builder.icmp_signed("<", view.stop, size), view.stop, size)
    return builder.gep(ary.data, [view.start]), [builder.sub(end, view.start)], [stride]


_numbas_indexing: Any = arrayobj.basic_indexing
setattr(arrayobj, "basic_indexing", _basic_indexing)  # noqa: B010


class KernelCompiler(Compiler):
    """Numba's compiler of one function, for Python or for another kernel."""

    from_first = False
    inner = False
    library: type[_Inner] = _Inner

    def define_pipelines(self) -> Any:
        """Numba's passes."""
        state = self.state
        state.typingctx = _typing(state.typingctx, state.flags.copy())
        state.targetctx = _Target(state.targetctx.subtarget(typing_context=state.typingctx))
        state.targetctx.from_first = self.from_first
        inner = bool(_floors or self.inner)
        state.flags.no_cpython_wrapper |= inner
        if state.library is None and (inner or self.from_first):
            state.library = (self.library if inner else _Whole)(state.targetctx.codegen(), state.func_id.func_qualname)
            state.library.enable_object_caching()
        return super().define_pipelines()


class RealTimeCompiler(KernelCompiler):
    """Of kernels whose indices count from the first element."""

    from_first = True
    library = _Simplified


class InnerCompiler(KernelCompiler):
    """Of functions that Python never calls."""

    inner = True


@cache
def _policy() -> str:
    """Digest of this module: a change of the way to compile changes the machine code."""
    return hashlib.sha256(Path(__file__).read_bytes()).hexdigest()


class _Kept(CompileResultCacheImpl):
    """Rebuild a library of the same kind from its form on disk."""

    @property
    def variant(self) -> str:
        """For whom it was compiled, and how."""
        return f"{'kernel' if _floors else 'Python'} {_policy()}"

    def rebuild(self, target_context: Any, reduced_data: Any) -> Any:
        if not _floors:
            return super().rebuild(target_context, reduced_data)
        codegen = target_context.codegen()
        codegen._library_class = _Inner
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
        """Register a compiled signature; those that Python can call are registered for numba's fast dispatch, too."""
        if isinstance(cres.library, _Inner):
            self.overloads[tuple(cres.signature.args)] = cres  # Python's first call comes to `compile`
        else:
            super().add_overload(cres)

    def compile(self, sig: Any) -> Any:
        """Compile for a signature: machine code that Python can call, or intermediate code if another kernel asks for
        it."""
        with global_compiler_lock:
            if _floors:
                return super().compile(sig)
            return self._compile_for_python(sig)

    def _compile_for_python(self, sig: Any) -> Any:
        with _alone():
            args = tuple(numba.core.sigutils.normalize_signature(sig)[0])
            known: dict[Any, Any] = self.overloads
            if args in known and isinstance(known[args].library, _Inner):
                del known[args]
            entry = super().compile(sig)
            cres = known[args]
            for environment in cres._find_referenced_environments():
                cres.library.codegen.set_env(environment.env_name, environment)
            return entry


@contextmanager
def _alone() -> Iterator[None]:
    """Garbage is not collected: compiling makes millions of objects, which a collector would go through again. Messages
    have no colours."""
    on, colours = gc.isenabled(), _errors._termcolor_inst
    gc.disable()
    _errors._termcolor_inst = _Plain()
    try:
        yield
    finally:
        _errors._termcolor_inst = colours
        if on:
            gc.enable()


def _number(kind: Any) -> Any:
    return kind.dtype if isinstance(kind, numba.types.IntEnumMember) else kind


def _plain(kind: Any) -> Any:
    return numba.types.unliteral(_number(kind))
