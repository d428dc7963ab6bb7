"""Our decorator makes what the standard one makes; only when methods are compiled differs."""

import copy
import dataclasses
import gc
import pickle
import subprocess
import sys
from dataclasses import field
from pathlib import Path
from typing import ClassVar

import pytest

from agentcli.core.dataclass import FEW, dataclass, replace
from agentcli.core.message import Text, Usage
from agentcli.core.record import Unpin


def _pair(**options):
    """The same class by both decorators."""
    made = []
    for decorate in (dataclass, dataclasses.dataclass):

        @decorate(slots=True, **options)
        class Point:
            """A point."""

            x: int
            y: int = 2
            names: list[str] = field(default_factory=list)
            note: str = field(default="", compare=False, repr=False)
            length: int = field(init=False, compare=False, repr=False)
            last: str = field(default="z", kw_only=True)
            kind: ClassVar[str] = "point"
            shapes: "ClassVar[int]" = 1

            def __post_init__(self):
                object.__setattr__(self, "length", self.x + self.y)

        made.append(Point)
    return made


@dataclass(frozen=True, slots=True)
class Kept:
    """At the top of the module, so that it can be pickled."""

    left: int
    right: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Longer(Kept):
    middle: str = "m"


@pytest.mark.parametrize("frozen", [True, False])
def test_instances_are_made_compared_and_printed_as_by_the_standard_decorator(frozen):
    ours, theirs = _pair(frozen=frozen)
    for arguments in ((1,), (1, 3), (1, 3, ["a"], "n")) * FEW:  # before and after its __init__ is compiled
        a, b = ours(*arguments, last="q"), theirs(*arguments, last="q")
        assert repr(a) == repr(b)
        assert dataclasses.asdict(a) == dataclasses.asdict(b)
        assert a.length == b.length == a.x + a.y
    assert ours(1, note="a") == ours(1, note="b")
    assert ours(1) != ours(2)
    assert ours(1) != theirs(1)
    assert ours(1).names is not ours(1).names
    assert ours.__match_args__ == theirs.__match_args__
    assert ours.__slots__ == theirs.__slots__
    assert (ours.kind, ours(1).shapes) == (theirs.kind, theirs(1).shapes) == ("point", 1)
    assert dataclasses.replace(ours(1), y=5) == ours(1, 5)


@pytest.mark.parametrize("frozen", [True, False])
def test_wrong_arguments_are_refused_with_the_name_of_the_class(frozen):
    for cls in _pair(frozen=frozen):
        with pytest.raises(TypeError, match=r"Point\.__init__\(\) missing 1 required positional argument: 'x'"):
            cls()
        with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
            cls(1, z=1)
        with pytest.raises(TypeError, match="positional argument"):
            cls(1, 2, [], "", "last")
        with pytest.raises(TypeError, match="multiple values for argument 'x'"):
            cls(1, x=1)
        with pytest.raises(TypeError, match="unexpected keyword argument 'length'"):
            cls(1, length=1)


def test_a_frozen_instance_cannot_be_changed():
    one = Kept(1)
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'left'"):
        one.left = 2
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'left'"):
        del one.left
    assert not hasattr(one, "__dict__")


def test_frozen_instances_hash_by_value_and_mutable_ones_do_not():
    assert hash(Kept(1, (2,))) == hash(Kept(1, (2,)))
    assert {Kept(1): "a"}[Kept(1)] == "a"
    mutable, _ = _pair(frozen=False)
    with pytest.raises(TypeError, match="unhashable"):
        hash(mutable(1))


def test_instances_can_be_copied_and_pickled():
    one = Longer(1, (2, 3), "x")
    assert copy.copy(one) == copy.deepcopy(one) == pickle.loads(pickle.dumps(one)) == one


def test_a_subclass_has_the_fields_of_its_base_first():
    assert Longer(1, (2,), "x") == Longer(middle="x", right=(2,), left=1)
    assert Longer(1) != Kept(1)
    match Longer(1, (2,), "x"):
        case Longer(left, right, middle):
            assert (left, right, middle) == (1, (2,), "x")


@dataclass(frozen=True, slots=True)
class Many:
    """With fields of all kinds."""

    one: int
    two: int = 2
    three: list[int] = field(default_factory=list)
    four: int = 4
    five: int = 5
    six: int = field(default=6, init=False)


class Lazy(Many):
    """Not decorated, with a dictionary of its own."""


@pytest.mark.parametrize("cls", [Many, Lazy])
def test_an_instance_has_all_its_fields_and_cannot_be_changed(cls):
    for made in [cls(1, three=[3]) for _ in range(2 * FEW)]:
        assert type(made) is cls
        assert dataclasses.astuple(made) == (1, 2, [3], 4, 5, 6)
        assert copy.copy(made) == pickle.loads(pickle.dumps(made)) == made
        with pytest.raises(dataclasses.FrozenInstanceError):
            made.one = 2


@pytest.mark.parametrize("kw_only", [True, False])
def test_the_standard_library_reads_the_fields_of_a_subclass_that_it_would_have_made(kw_only):
    read = []
    for decorate in (dataclass, dataclasses.dataclass):

        @decorate(slots=True)
        class Base:
            a: int
            b: int = 2

        @decorate(slots=True, kw_only=kw_only)
        class Derived(Base):
            c: int = field(default=3, kw_only=False)
            b: int = 5

        one = Derived(1, b=7)
        facts = [(each.name, each.type, each.default, each.init, each.kw_only) for each in dataclasses.fields(Derived)]
        names = (Derived.__match_args__, Derived.__slots__, dataclasses.is_dataclass(Derived))
        read.append((facts, names, dataclasses.asdict(one), dataclasses.replace(one, c=9).c))
    assert read[0] == read[1]


@pytest.mark.parametrize("slow", ["b: KW_ONLY", "b: 'InitVar[int]'"])
def test_fields_that_only_the_standard_decorator_knows_are_refused_when_they_are_read(slow):
    names = {"dataclass": dataclass, "KW_ONLY": dataclasses.KW_ONLY, "InitVar": dataclasses.InitVar}
    exec(f"@dataclass(slots=True)\nclass C:\n    a: int\n    {slow}", names | {"__name__": "dataclasses"}, names)
    with pytest.raises(TypeError, match="take the standard library's decorator"):
        dataclasses.fields(names["C"])


def test_a_default_that_all_instances_would_share_is_refused():
    with pytest.raises(ValueError, match="the default of a is mutable"):

        @dataclass(slots=True)
        class Shared:
            a: list[int] = []  # noqa: RUF012


def test_a_class_keeps_the_methods_it_defines():
    @dataclass(frozen=True, slots=True)
    class Loud:
        value: int

        def __repr__(self):
            return "loud"

        def __eq__(self, other):
            return True

        def __hash__(self):
            return 7

    assert (repr(Loud(1)), Loud(1) == Loud(2), hash(Loud(1))) == ("loud", True, 7)


def test_a_class_without_fields_compares_equal_to_itself():
    @dataclass(frozen=True, slots=True)
    class Nothing:
        pass

    assert Nothing() == Nothing()
    assert hash(Nothing()) == hash(Nothing())


def test_no_method_is_compiled_for_a_few_instances():
    program = (
        "from agentcli.core.dataclass import dataclass\n"
        "@dataclass(frozen=True, slots=True)\n"
        "class C:\n    a: int = 1\n"
        f"for _ in range({FEW}): C()\n"
        "assert C.__init__.__code__.co_filename != '<string>'\n"
        "C()\n"
        "assert C.__init__.__code__.co_filename == '<string>'\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, cwd=Path(__file__).parents[2])


def test_reading_the_fields_of_a_class_writes_no_signature_of_it():
    program = (
        "import dataclasses, tokenize\n"
        "from agentcli.core.dataclass import dataclass\n"
        "@dataclass(slots=True)\n"
        "class C:\n    a: int = 1\n"
        "assert [field.name for field in dataclasses.fields(C)] == ['a']\n"
        "assert not tokenize._compile.cache_info().currsize\n"  # the pattern of all tokens, for a signature of object
        "dataclasses.dataclass(type('Standard', (), {}), init=False)\n"
        "assert tokenize._compile.cache_info().currsize\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, cwd=Path(__file__).parents[2])


def test_every_class_of_the_program_with_slots_is_made_by_this_decorator():
    package = Path(__file__).parents[2] / "agentcli"
    standard = [
        str(path.relative_to(package))
        for path in package.rglob("*.py")
        if "slots=True" in (text := path.read_text())
        and "from dataclasses import dataclass" in text.replace("(", "")
        and path.name != "dataclass.py"
    ]
    assert standard == []


def test_a_field_that_is_no_argument_has_its_default() -> None:
    @dataclass(slots=True)
    class Counter:
        start: int
        seen: int = field(default=7, init=False)

    assert (Counter(1).seen, Counter(1)) == (7, Counter(1))


def test_a_copy_with_other_values_is_the_one_of_the_standard_library() -> None:
    for value, changes in (
        (Usage(1, 2, 3), {"output": 5}),
        (Text("a"), {"text": "b", "meta": {}}),
        (Unpin(3), {"seq": 4}),
    ):
        assert replace(value, **changes) == dataclasses.replace(value, **changes)
        assert replace(value) == value
    with pytest.raises(KeyError, match="nobody"):
        replace(Text("a"), nobody=1)


def test_fields_that_are_given_by_keyword_cannot_be_copied_by_place() -> None:
    @dataclass(slots=True, kw_only=True)
    class Named:
        name: str = ""

    with pytest.raises(TypeError, match="by keyword"):
        replace(Named(), name="a")


def test_methods_are_compiled_with_the_first_instance_beyond_a_few_or_with_arguments_that_need_it() -> None:
    @dataclass(frozen=True, slots=True)
    class Many:
        a: int = 1
        b: list[int] = field(default_factory=list)
        c: int = field(default=3, kw_only=True)

    @dataclass(frozen=True, slots=True)
    class Wrong:
        a: int

    def compiled(cls) -> bool:
        return cls.__init__.__code__.co_filename == "<string>"

    given = [Many(), Many(2), Many(2, [4]), Many(a=2, b=[4], c=5), Many(2, c=5)]
    made = given + [Many() for _ in range(FEW - len(given))]
    assert (FEW, compiled(Many)) == (32, False)
    assert [(one.a, one.b, one.c) for one in made[:6]] == [
        (1, [], 3), (2, [], 3), (2, [4], 3), (2, [4], 5), (2, [], 5), (1, [], 3)
    ]  # fmt: skip
    assert made[0].b is not made[1].b
    Many()
    assert compiled(Many)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'a'"):
        Wrong()  # type: ignore[call-arg]
    assert compiled(Wrong)


def test_nothing_keeps_the_class_as_it_was_before_it_was_decorated() -> None:
    @dataclass(slots=True)
    class Base:
        a: int

    @dataclass(slots=True)
    class Derived(Base):
        b: int = 2

    assert [one.name for one in dataclasses.fields(Derived)] == ["a", "b"]
    Derived(1)
    gc.collect()
    assert Base.__subclasses__() == [Derived]
