"""Writes a LuaJIT module of the C API, from include/lazyxla.json: python luajit.py OUTPUT.lua

    local lxla = require("lazyxla")("/path/to/liblazyxla.so")
    local y = lxla.binary(lxla.BINARY_ADD, a, b)

A function takes the inputs of the C function: tables for lists (their lengths are not given), strings, and booleans for
flags; it returns the outputs, and a failed call is an error with a status and a message. Handles are released by the
garbage collector. nil is NULL, or the null handle. `lxla.C` has the functions of C, `lxla.options` makes structs of
options."""

import sys
from pathlib import Path

sys.dont_write_bytecode = True  # leaves no caches beside the sources
from calls import calls, declaration, derived, described, is_raw, options, ordered

KEYWORDS = {
    "and",
    "end",
    "for",
    "function",
    "in",
    "local",
    "not",
    "or",
    "repeat",
    "then",
    "until",
    "while",
    "if",
    "goto",
}
HEAD = """-- Written by tools/bindings/luajit.py from include/lazyxla.json of lazyxla VERSION; do not edit.
local ffi = require("ffi")
ffi.cdef [[
DECLARATIONS]]

local lxla = {CONSTANTS}
local options = {OPTIONS}
local C

local Error = {__tostring = function(self) return self.message end}

local function fail(status, message)
  error(setmetatable({status = status, message = message}, Error), 0)
end

local function check(status)
  if status ~= 0 then
    fail(status, ffi.string(C.lxla_status_name(status)) .. ": " .. ffi.string(C.lxla_last_error_message()))
  end
end

local function refused(name, given, wanted)
  fail(lxla.INVALID_ARGUMENT, "INVALID_ARGUMENT: " .. name .. ": a " .. type(given) .. " given; want " .. wanted)
end

-- Returns the number of elements of a list, a string or an array, whose elements have `size` bytes.
local function length(name, list, size)
  if list == nil then return nil end
  if type(list) == "table" or type(list) == "string" then return #list end
  if type(list) == "cdata" then return ffi.sizeof(list) / size end
  refused(name, list, "a list")
end

-- Returns the number of groups of n elements.
local function divided(name, n, by)
  if n and n % by ~= 0 then
    fail(lxla.INVALID_ARGUMENT, ("INVALID_ARGUMENT: %s: %d elements given; want a multiple of %d"):format(name, n, by))
  end
  return n and n / by
end

-- Returns the common length of lists, of which some may be left out.
local function common(names, lengths)
  local n
  for _, each in pairs(lengths) do
    n = n or each
    if n ~= each then fail(lxla.INVALID_ARGUMENT, "INVALID_ARGUMENT: " .. names .. ": different lengths") end
  end
  return n or 0
end

-- Returns an array of C with the elements of a table; strings and arrays of C as they are.
local function array(name, kind, list)
  if list == nil or type(list) == "string" or type(list) == "cdata" then return list end
  if type(list) ~= "table" then refused(name, list, "a list") end
  local made = ffi.new(kind .. "[?]", math.max(#list, 1))
  for i = 1, #list do made[i - 1] = list[i] end
  return made
end

-- Refuses a list of n elements if the elements of another list, of type `kind`, say another number: C reads as many.
local function exactly(name, n, rule, other, kind, list)
  if n == nil or list == nil or type(list) == "string" then return end
  local elements, wanted = array(other, kind, list), rule == "sum" and 0 or 1
  for i = 0, length(other, list, ffi.sizeof(kind)) - 1 do
    local each = tonumber(elements[i])
    if rule == "sum" then wanted = wanted + each else wanted = wanted * each end
  end
  if n ~= wanted then
    local why = string.format("%s: %d elements given; want %.0f, the %s of %s", name, n, wanted, rule, other)
    fail(lxla.INVALID_ARGUMENT, "INVALID_ARGUMENT: " .. why)
  end
end

local function handle(name, kind, given)
  if given == nil then return ffi.new(kind) end
  if not ffi.istype(kind, given) then refused(name, given, "a " .. kind) end
  return given
end

local function flag(given)
  if given == true or given == false then return given and 1 or 0 end
  return given or 0
end

local function text(name, given)
  if given ~= nil and type(given) ~= "string" then refused(name, given, "a string") end
  return given
end

local function owned(pointer)
  local copy = ffi.string(pointer)
  C.lxla_string_free(pointer)
  return copy
end

local function kept(kind, value, release)
  return ffi.gc(ffi.new(kind, value), release)
end

local function listed(kind, values, n, release)
  local made = {}
  for i = 1, tonumber(n) do made[i] = release and kept(kind, values[i - 1], release) or values[i - 1] end
  return made
end

-- Returns a struct of options with its defaults and the given fields, whose lists must stay alive until the call.
function lxla.options(name, fields)
  local made = ffi.new("lxla_" .. name)
  if not options["lxla_" .. name] then error("lazyxla has no options " .. name) end
  made.struct_size = ffi.sizeof(made)
  for field, value in pairs(fields or {}) do made[field] = value end
  return made
end
FUNCTIONS
return function(path)
  C = ffi.load(path or "lazyxla")
  lxla.C = C
  return lxla
end
"""


def ident(name):
    return name + "_" if name in KEYWORDS else name


class Generator:
    def __init__(self):
        self.description = described()
        self.handles = {each["name"] for each in self.description["types"] if each.get("handle")}

    def element(self, of):
        """Returns the type in C of an element of a list."""
        inner = of["type"].removesuffix("*").removesuffix("const ").strip()
        return inner if "*" in inner else inner.removeprefix("const ")

    def argument(self, of):
        name, role = ident(of["name"]), of["role"]
        if role == "string":
            return f'text("{name}", {name})'
        if role == "list":
            return f'array("{name}", "{self.element(of)}", {name})'
        if of["pointers"] == 0 and of["base"] in self.handles:
            return f'handle("{name}", "{of["base"]}", {name})'
        return f"flag({name})" if of.get("flag") else name

    def length(self, name, lists):
        def one(of):
            is_bytes = of["base"] == "void" and not is_raw(of)
            n, size = ident(of["name"]), "1" if is_bytes else f'ffi.sizeof("{self.element(of)}")'
            made = f'length("{n}", {n}, {size})'
            return f'divided("{n}", {made}, {of["length"]["times"]})' if "times" in of["length"] else made

        names, all = ", ".join(each["name"] for each in lists), ", ".join(map(one, lists))
        return f'local {name} = common("{names}", {{{all}}})'

    def exact(self, call, of, rule, other):
        """Returns the statement that checks a length which is the sum or product of the elements of another list."""
        n, elements = ident(of["name"]), f'"{self.element(call.of(other))}", {ident(other)}'
        given = f'length("{n}", {n}, ffi.sizeof("{self.element(of)}"))'
        return f'exactly("{of["name"]}", {given}, "{rule}", "{other}", {elements})'

    def place(self, of):
        """Returns the statement that makes room for a result."""
        name, kind = ident(of["name"]), self.element(of)
        if of["role"] == "output_list":
            length = str(of["length"].get("fixed") or ident(of["length"]["of"]))
            return f'local {name} = ffi.new("{kind}[?]", math.max(tonumber({length}), 1))'
        if of["direction"] == "inout":
            return f'local {name} = lxla.options("{kind.removeprefix("lxla_")}")'
        return f'local {name} = ffi.new("{kind}[1]")'

    def result(self, of):
        name, kind = ident(of["name"]), self.element(of)
        release = f"C.{of['release']}" if "release" in of and of["base"] in self.handles else None
        if of["role"] == "output_list":
            length = str(of["length"].get("fixed") or ident(of["length"]["of"]))
            return f'listed("{kind}", {name}, {length}, {release or "nil"})'
        if of["direction"] == "inout":
            return name
        if of["type"] == "char **":
            return f"owned({name}[0])"
        if release:
            return f'kept("{kind}", {name}[0], {release})'
        if of.get("flag"):
            return f"{name}[0] == 1"
        return f'ffi.new("{kind}", {name}[0])' if kind.startswith("lxla_") else f"{name}[0]"

    def function(self, call):
        name = call.function["name"].removeprefix("lxla_")
        parameters = ", ".join(ident(each["name"]) for each in call.inputs)
        steps = [self.length(ident(each), lists) for each, lists in call.lengths.items()]
        steps += [self.exact(call, *each) for each in derived(call)]
        steps += [self.place(each) for each in call.outputs]
        given = [each["name"] for each in call.inputs]
        argument = lambda of: self.argument(of) if of["name"] in given else ident(of["name"])
        arguments = ", ".join(map(argument, call.function["parameters"]))
        steps.append(f"check(C.{call.function['name']}({arguments}))")
        if call.outputs:
            steps.append(f"return {', '.join(map(self.result, call.outputs))}")
        comment = "".join(f"-- {line}".rstrip() + "\n" for line in call.function["doc"].split("\n"))
        body = "".join(f"  {step}\n" for step in steps)
        return f'\n{comment}lxla["{name}"] = function({parameters})\n{body}end\n'

    def text(self):
        types, functions = ordered(self.description["types"]), self.description["functions"]
        constants = [each for family in self.description["families"] for each in family["constants"]]
        parts = {
            "VERSION": self.description["version"],
            "DECLARATIONS": "".join(map(declaration, types + functions)),
            "CONSTANTS": ", ".join(f"{each['name'].removeprefix('LXLA_')} = {each['value']}" for each in constants),
            "OPTIONS": ", ".join(f"{each['name']} = true" for each in options(self.description)),
            "FUNCTIONS": "".join(map(self.function, calls(self.description))),
        }
        made = HEAD
        for name, part in parts.items():
            made = made.replace(name, part, 1)
        return made


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(Generator().text())
