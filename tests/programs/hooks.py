"""Records every call of its own hooks, and what was imported meanwhile."""
import collections
import dataclasses
import enum
import functools
import sys
import types
import weakref

CALLS = []


def note(name):
    def hook(self, *args):
        CALLS.append(name)
        if name in ("__repr__", "__str__", "__format__"):
            return "text"
        if name in ("__len__", "__hash__", "__index__", "__length_hint__", "__sizeof__"):
            return 3
        if name == "__bool__":
            return True
        if name == "__eq__":
            return self is args[0]
        if name == "__iter__":
            return iter(())
        if name == "__dir__":
            return []
        return None
    hook.__name__ = name
    return hook


DUNDERS = ("__repr__", "__str__", "__len__", "__iter__", "__eq__", "__hash__", "__bool__", "__format__",
           "__getitem__", "__contains__", "__dir__", "__sizeof__", "__reversed__", "__getattr__", "__length_hint__", "__call__")
HOOKS = {name: note(name) for name in DUNDERS}


class Meta(type):
    def __instancecheck__(cls, other): CALLS.append("meta.__instancecheck__"); return False
    def __subclasscheck__(cls, other): CALLS.append("meta.__subclasscheck__"); return False
    def __getattribute__(cls, name): CALLS.append(f"meta.__getattribute__ {name}"); return type.__getattribute__(cls, name)
    def __repr__(cls): CALLS.append("meta.__repr__"); return "Meta"
    def __iter__(cls): CALLS.append("meta.__iter__"); return iter(())
    def __len__(cls): CALLS.append("meta.__len__"); return 0
    def __eq__(cls, other): CALLS.append("meta.__eq__"); return cls is other
    def __hash__(cls): CALLS.append("meta.__hash__"); return 7
    @property
    def __name__(cls): CALLS.append("meta.__name__"); return "x"


class Descriptor:
    def __get__(self, obj, kind=None): CALLS.append("descriptor.__get__"); return 1


def getattribute(self, name):
    CALLS.append(f"__getattribute__ {name}")
    return object.__getattribute__(self, name)


def body(extra=None):
    made = dict(HOOKS)
    made["__getattribute__"] = getattribute
    made["__class__"] = property(lambda self: (CALLS.append("__class__"), int)[1])
    made["lazy"] = property(lambda self: CALLS.append("property"))
    made["desc"] = Descriptor()
    made.update(extra or {})
    return made


Plain = type("Plain", (), body())
Slotted = type("Slotted", (), body({"__slots__": ("a", "b")}))
MetaKind = Meta("MetaKind", (), body())
MyList = type("MyList", (list,), body())
MyTuple = type("MyTuple", (tuple,), body())
MyDict = type("MyDict", (dict,), body())
MySet = type("MySet", (set,), body())
MyFrozen = type("MyFrozen", (frozenset,), body())
MyStr = type("MyStr", (str,), body())
MyBytes = type("MyBytes", (bytes,), body())
MyInt = type("MyInt", (int,), body())
MyFloat = type("MyFloat", (float,), body())
MyDeque = type("MyDeque", (collections.deque,), body())
MyOrdered = type("MyOrdered", (collections.OrderedDict,), body())
MyDefault = type("MyDefault", (collections.defaultdict,), body())
MyCounter = type("MyCounter", (collections.Counter,), body())
MyChain = type("MyChain", (collections.ChainMap,), body())
MyUserDict = type("MyUserDict", (collections.UserDict,), body())
# pydevd and pdb read its __cause__ and __traceback__ as any attribute.
MyError = type("MyError", (ValueError,), body({"__getattribute__": object.__getattribute__}))
MyIter = type("MyIter", (), body({"__next__": note("__next__")}))
MyModule = type("MyModule", (type(sys),), body())
MyRepr = type("MyRepr", (), {"__repr__": HOOKS["__repr__"], "__init__": lambda self: self.__dict__.update(q=1)})


class MyEnum(enum.Enum):
    A = 1
    def __repr__(self): CALLS.append("enum.__repr__"); return "A"
    def __str__(self): CALLS.append("enum.__str__"); return "A"


@dataclasses.dataclass
class Data:
    a: object
    b: int = 2
    hidden: int = dataclasses.field(default=1, repr=False)


class Fake:
    """Looks like a named tuple, a data class."""
    @property
    def _fields(self): CALLS.append("_fields"); return ()
    @property
    def __dataclass_fields__(self): CALLS.append("dc"); return {}
    @property
    def __dict__(self): CALLS.append("__dict__"); return {}


class Factory:
    """A default factory whose name is a property."""
    def __call__(self): return 0
    def __getattr__(self, name): CALLS.append(f"factory {name}"); raise AttributeError(name)
    def __repr__(self): CALLS.append("factory repr"); return "f"


def work(error):
    plain = Plain(); object.__setattr__(plain, "x", 1)
    slotted = Slotted(); object.__setattr__(slotted, "a", 5)
    meta = MetaKind()
    my_list = MyList((1, 2)); my_tuple = MyTuple((1, 2)); my_dict = MyDict(a=1); my_set = MySet((1,)); my_frozen = MyFrozen((1,))
    my_str = MyStr("hello"); my_bytes = MyBytes(b"hello"); my_int = MyInt(7); my_float = MyFloat(1.5)
    my_deque = MyDeque((1, 2), 5); my_ordered = MyOrdered(a=1); my_default = MyDefault(Factory(), a=1)
    my_counter = MyCounter("aab"); my_error = error; my_iter = MyIter(); my_module = MyModule("m")
    my_chain = MyChain({"a": 1}); my_user_dict = MyUserDict(a=1)
    my_repr = MyRepr(); my_enum = MyEnum.A; data = Data(plain); fake = Fake()
    keys = {MyRepr(): 1}
    within = [plain, slotted, {"k": my_repr}, (my_dict,), {"s": my_str}, my_error]
    plain_default = collections.defaultdict(Factory(), a=1)
    bound = plain_default.get
    views = [dict(a=my_repr).keys(), dict(a=my_repr).values(), dict(a=my_repr).items()]
    function = lambda: (plain, my_list)
    cls = MetaKind
    proxy = types.MappingProxyType({"a": my_repr})
    my_proxy = types.MappingProxyType(my_dict)
    wrapped = functools.partial(work, plain)
    weak = weakref.ref(my_repr)
    simple = types.SimpleNamespace(a=my_repr)
    it = iter([my_repr])
    gen = (x for x in [1])
    built = len(CALLS)
    CALLS.clear()
    one = 1  # @one
    two = 2
    three = 3
    four = 4
    five = 5
    six = 6
    seven = 7
    eight = 8
    nine = 9
    ten = 10
    try:
        raise my_error  # @raised
    except Exception:
        pass
    return my_repr


def main():
    before = set(sys.modules)
    work(MyError("boom"))
    loaded = [name for name in set(sys.modules) - before if not name.startswith("_freezeframe")]
    print("calls", sorted(set(CALLS)), "modules", sorted(loaded))


if __name__ == "__main__":
    main()
