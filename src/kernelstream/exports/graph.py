"""A graph of ONNX operators, written as arithmetic: sums and products of tensors become its nodes.

onnxruntime makes a single number that a product of matrices is multiplied by a float32, whatever it was: such numbers
are multiplied into the matrices here.
"""

from typing import Any

import numpy as np

from ..extras import needing

with needing("onnx"):
    import onnx
    from onnx import helper, numpy_helper

OPSET = 18  # the first in which bits are computed with
IR_VERSION = 8  # that goes with it


class Tensor:
    """An array of the graph, of which a name and the type of its numbers are known. Numbers and arrays that it is
    combined with take its type.
    """

    __array_ufunc__ = None  # so that NumPy's arrays leave sums and products to tensors

    def __init__(self, graph: "Graph", name: str, dtype: Any):
        self.graph, self.name, self.dtype = graph, name, np.dtype(dtype)

    def node(self, operator: str, *others: Any, dtype: Any = None, **attributes: Any) -> "Tensor":
        """The result of an operator on this tensor and others, of the same type unless it is said."""
        return self.graph.node(operator, self, *others, dtype=dtype or self.dtype, **attributes)

    def like(self, value: Any) -> "Tensor":
        """A number or an array, of this type."""
        return self.graph.constant(np.asarray(value, self.dtype))

    def cast(self, dtype: Any) -> "Tensor":
        if np.dtype(dtype) == self.dtype:
            return self
        return self.node("Cast", dtype=dtype, to=helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    def sum(self, axis: int, *, keep: bool = False) -> "Tensor":
        return self.node("ReduceSum", self.graph.constant(np.array([axis])), keepdims=int(keep))

    def clip(self, low: float, high: float) -> "Tensor":
        return self.node("Clip", self.like(low), self.like(high))

    def reshape(self, *shape: int) -> "Tensor":
        """The first axis, of the rows, is written as -1."""
        return self.node("Reshape", self.graph.constant(np.array(shape)))

    def taken(self, places: Any, axis: int) -> "Tensor":
        """What is at these places along an axis."""
        return self.node("Gather", places if isinstance(places, Tensor) else np.asarray(places, np.int64), axis=axis)

    def __neg__(self) -> "Tensor":
        return self.node("Neg")

    def __add__(self, other: Any) -> "Tensor":
        return self.node("Add", self._operand(other))

    def __sub__(self, other: Any) -> "Tensor":
        return self.node("Sub", self._operand(other))

    def __mul__(self, other: Any) -> "Tensor":
        return self.node("Mul", self._operand(other))

    def __truediv__(self, other: Any) -> "Tensor":
        return self.node("Div", self._operand(other))

    def __matmul__(self, other: Any) -> "Tensor":
        return self.node("MatMul", self._operand(other))

    def __radd__(self, other: Any) -> "Tensor":
        return self + other

    def __rmul__(self, other: Any) -> "Tensor":
        return self * other

    def __rsub__(self, other: Any) -> "Tensor":
        return self._operand(other) - self

    def __rtruediv__(self, other: Any) -> "Tensor":
        return self._operand(other) / self

    def _operand(self, other: Any) -> "Tensor":
        return other if isinstance(other, Tensor) else self.like(other)


class Graph:
    """What a model of ONNX is made of."""

    def __init__(self) -> None:
        self.inputs: list[Any] = []
        self.outputs: list[Any] = []
        self._nodes: list[Any] = []
        self._constants: list[Any] = []

    def input(self, name: str, dtype: Any, width: int) -> Tensor:
        """Rows of so many features."""
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        self.inputs.append(helper.make_tensor_value_info(name, kind, ["rows", width]))
        return Tensor(self, name, dtype)

    def output(self, name: str, tensor: Tensor, *shape: int) -> None:
        """The tensor by this name, an array of the rows and of this shape."""
        self._nodes.append(helper.make_node("Identity", [tensor.name], [name]))
        text = tensor.dtype.kind in "OU"
        kind = onnx.TensorProto.STRING if text else helper.np_dtype_to_tensor_dtype(tensor.dtype)
        self.outputs.append(helper.make_tensor_value_info(name, kind, ["rows", *shape]))

    def constant(self, array: np.ndarray) -> Tensor:
        name = f"constant_{len(self._constants)}"
        self._constants.append(numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), name))
        return Tensor(self, name, array.dtype)

    def node(self, operator: str, *operands: Any, dtype: Any, **attributes: Any) -> Tensor:
        given = [one if isinstance(one, Tensor) else self.constant(one) for one in operands]
        name = f"{operator}_{len(self._nodes)}"
        self._nodes.append(helper.make_node(operator, [one.name for one in given], [name], **attributes))
        return Tensor(self, name, dtype)

    def joined(self, tensors: list[Tensor], axis: int) -> Tensor:
        return tensors[0] if len(tensors) == 1 else self.node("Concat", *tensors, dtype=tensors[0].dtype, axis=axis)

    def model(self, name: str, version: str, properties: dict[str, str]) -> Any:
        """The whole, checked by ONNX."""
        graph = helper.make_graph(self._nodes, name, self.inputs, self.outputs, self._constants)
        opsets = [helper.make_opsetid("", OPSET)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)
        model.producer_name, model.producer_version = "kernelstream", version
        helper.set_model_props(model, properties)
        onnx.checker.check_model(model)
        return model
