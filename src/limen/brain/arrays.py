"""Numpy as the brain uses it: imported when its first function is called, and short names for its arrays."""

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
else:

    class _Numpy:
        """Numpy takes a tenth of a second to import; a process that never searches does not pay for it."""

        def __getattr__(self, name):
            import numpy

            value = getattr(numpy, name)
            setattr(self, name, value)
            return value

    np = _Numpy()

__all__ = ["F32", "F64", "I8", "I32", "I64", "U8", "U16", "U32", "U64", "Bools", "np"]

Bools: TypeAlias = "NDArray[np.bool_]"
I8: TypeAlias = "NDArray[np.int8]"
I32: TypeAlias = "NDArray[np.int32]"
I64: TypeAlias = "NDArray[np.int64]"
U8: TypeAlias = "NDArray[np.uint8]"
U16: TypeAlias = "NDArray[np.uint16]"
U32: TypeAlias = "NDArray[np.uint32]"
U64: TypeAlias = "NDArray[np.uint64]"
F32: TypeAlias = "NDArray[np.float32]"
F64: TypeAlias = "NDArray[np.float64]"
