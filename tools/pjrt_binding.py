#!/usr/bin/env python3
"""Writes the file sys.rs of the engine from a pjrt_c_api.h: the structs of the functions we call, and the function table.

    python3 tools/pjrt_binding.py build/tools/.../include/pjrt_c_api.h > crates/engine/src/pjrt/sys.rs && cargo fmt

The result is committed; nothing runs this at build time. Run it by hand to call a further function of PJRT: add its
name to FUNCTIONS. Functions that we do not call stay in the table as bare pointers, so that offsets hold. A unit test
(engine/pjrt/binding_test.rs) compiles C assertions of every size and offset against the plugin's own header.
"""

import re
import sys

FUNCTIONS = """
Error_Destroy Error_Message Error_GetCode Plugin_Initialize Plugin_Attributes
Event_Destroy Event_IsReady Event_Error Event_Await Event_OnReady
Client_Create Client_Destroy Client_PlatformName Client_PlatformVersion Client_ProcessIndex Client_AddressableDevices
Client_Compile Client_BufferFromHostBuffer
Device_GetDescription DeviceDescription_Id Device_MemoryStats
Executable_Destroy Executable_NumOutputs Executable_Serialize Executable_DeserializeAndLoad
Executable_GetCompiledMemoryStats Executable_GetCostAnalysis Executable_OptimizedProgram Executable_OutputDimensions
LoadedExecutable_Destroy LoadedExecutable_GetExecutable LoadedExecutable_Execute
Buffer_Destroy Buffer_IsDeleted Buffer_CopyToDevice Buffer_ToHostBuffer Buffer_IsOnCpu Buffer_ReadyEvent
Buffer_GetMemoryLayout Buffer_OpaqueDeviceMemoryDataPointer
Buffer_IncreaseExternalReferenceCount Buffer_DecreaseExternalReferenceCount
""".split()
ENUMS = [
    "PJRT_Error_Code",
    "PJRT_NamedValue_Type",
    "PJRT_Buffer_Type",
    "PJRT_HostBufferSemantics",
    "PJRT_Buffer_MemoryLayout_Type",
]
# Types of functions that a caller hands to a plugin, or a plugin to a caller's function.
CALLBACKS = {
    "PJRT_Event_OnReadyCallback": "(*mut PJRT_Error, *mut c_void)",
    "PJRT_CallbackError": "(PJRT_Error_Code, *const c_char, usize) -> *mut PJRT_Error",
    "PJRT_KeyValueGetCallback": "(*mut PJRT_KeyValueGetCallback_Args) -> *mut PJRT_Error",
    "PJRT_KeyValueTryGetCallback": "(*mut PJRT_KeyValueTryGetCallback_Args) -> *mut PJRT_Error",
    "PJRT_KeyValuePutCallback": "(*mut PJRT_KeyValuePutCallback_Args) -> *mut PJRT_Error",
    "PJRT_KeyValueGetCallback_ValueDeleter": "(*mut c_char)",
    "PJRT_KeyValueTryGetCallback_ValueDeleter": "(*mut c_char)",
}
# Enums whose values we never name are plain integers to us.
INTEGERS = {
    "size_t": "usize",
    "int": "i32",
    "int32_t": "i32",
    "int64_t": "i64",
    "uint64_t": "u64",
    "uint32_t": "u32",
    "bool": "bool",
    "float": "f32",
    "char": "c_char",
    "void": "c_void",
    "PJRT_Extension_Type": "u32",
}

source = open(sys.argv[1]).read()
source = re.sub(r"//[^\n]*", "", source)
source = re.sub(r"/\*.*?\*/", "", source, flags=re.S)
structs, opaque, done = [], set(), {}


def braces(text, start):
    depth, i = 1, start
    while depth:
        depth += {"{": 1, "}": -1}.get(text[i], 0)
        i += 1
    return text[start : i - 1]


def body_of(name):
    m = re.search(r"(?:typedef )?struct %s \{" % name, source)
    return braces(source, m.end()) if m else None


def rust_type(c):
    c = " ".join(c.replace("*", " * ").split())
    tokens = [t for t in c.split() if t != "struct"]
    # Read the base type with its own const, then each '*' with the const that stands after it.
    const = tokens[0] == "const"
    base = tokens[1] if const else tokens[0]
    rest = tokens[2 if const else 1 :]
    if base in INTEGERS:
        out = INTEGERS[base]
    else:
        out = base
        need(base)
    i = 0
    while i < len(rest):
        assert rest[i] == "*", c
        out = ("*const " if const else "*mut ") + out
        const = i + 1 < len(rest) and rest[i + 1] == "const"
        i += 2 if const else 1
    return out


def fields_of(name, text):
    out = []
    while text.strip():
        text = text.strip()
        m = re.match(r"union \{", text)
        if m:
            inner = braces(text, m.end())
            text = text[m.end() + len(inner) + 1 :].strip()
            assert text.startswith(";")
            text = text[1:]
            union = name + "_Value"
            members = fields_of(union, inner)
            structs.append((union, members, "union"))
            out.append(("value", union))
            continue
        decl, text = text.split(";", 1)
        decl = " ".join(decl.split())
        m = re.match(r"void \(\*(\w+)\)\((.*)\)$", decl)
        if m:
            args = ", ".join(rust_type(re.sub(r"\w+$", "", a.strip())) for a in m.group(2).split(","))
            out.append((m.group(1), 'Option<unsafe extern "C-unwind" fn(%s)>' % args))
            continue
        m = re.match(r"(.*?)(\w+)$", decl)
        kind = m.group(1).strip()
        base = kind.rstrip("*")
        if base in CALLBACKS:
            function = 'Option<unsafe extern "C" fn%s>' % CALLBACKS[base]
            for argument in re.findall(r"PJRT_\w+_Args", function):
                need(argument)
            out.append((m.group(2), "*mut " * kind.count("*") + function))
            continue
        if "Callback" in kind and "Info" not in kind:
            out.append((m.group(2), "*const c_void"))
            continue
        out.append((m.group(2), rust_type(kind)))
    return out


def need(name):
    if name in done or name in ENUMS:
        return
    done[name] = True
    text = body_of(name)
    if text is None or name in ("PJRT_SendCallbackInfo", "PJRT_RecvCallbackInfo"):
        opaque.add(name)
        return
    structs.append((name, fields_of(name, text), "struct"))


need("PJRT_Extension_Base")
need("PJRT_Api_Version")
for f in FUNCTIONS:
    need("PJRT_%s_Args" % f)

minor = re.search(r"#define PJRT_API_MINOR (\d+)", source).group(1)
print(
    """//! The PJRT C API, as far as we call it: written by tools/pjrt_binding.py from pjrt_c_api.h, version 0.%s.
//! Do not edit; run the tool again. Meanings are documented in that header, which the plugin's package carries.
#![allow(non_camel_case_types, non_upper_case_globals, non_snake_case, dead_code)]

use std::ffi::{c_char, c_void};

pub const PJRT_API_MAJOR: i32 = 0;
pub const PJRT_API_MINOR: i32 = %s;

/// A struct that a caller hands to a plugin: its first field is its size.
pub trait VersionedStruct {
    /// `PJRT_STRUCT_SIZE` of the header: up to the end of the last field, without padding.
    const STRUCT_SIZE: usize;
}
"""
    % (minor, minor)
)
for e in ENUMS:
    m = re.search(r"typedef enum \{([^}]*)\} %s;" % e, source)
    print("pub type %s = u32;" % e)
    value = 0
    for item in m.group(1).split(","):
        item = item.strip()
        if not item:
            continue
        if "=" in item:
            item, v = [s.strip() for s in item.split("=")]
            value = int(v, 0)
        print("pub const %s: %s = %d;" % (item, e, value))
        value += 1
    print()
for o in sorted(opaque):
    print("#[repr(C)]\npub struct %s {\n    _opaque: [u8; 0],\n}" % o)
layout = []
for name, members, kind in structs:
    print("\n#[repr(C)]\n#[derive(Clone, Copy)]\npub %s %s {" % (kind, name))
    for n, t in members:
        print("    pub %s: %s," % ("type_" if n == "type" else n, t))
    print("}")
    if kind == "struct" and members[0][0] == "struct_size":
        last, kind_of_last = members[-1]
        last = "type_" if last == "type" else last
        print(
            "impl VersionedStruct for %s {\n    const STRUCT_SIZE: usize = std::mem::offset_of!(%s, %s) + size_of::<%s>();\n}"
            % (name, name, last, kind_of_last)
        )
        layout.append((name, members))

table = re.findall(r"_PJRT_API_STRUCT_FIELD\((PJRT_\w+)\);", source)
print(
    "\n/// The function table. Never copy it: a plugin's may be shorter or longer than ours.\n#[repr(C)]\npub struct PJRT_Api {\n    pub struct_size: usize,\n    pub extension_start: *mut PJRT_Extension_Base,\n    pub pjrt_api_version: PJRT_Api_Version,"
)
for f in table:
    short = f[len("PJRT_") :]
    if short in FUNCTIONS:
        result = "" if re.search(r"typedef void %s\(" % f, source) else " -> *mut PJRT_Error"
        print('    pub %s: Option<unsafe extern "C-unwind" fn(*mut %s_Args)%s>,' % (f, f, result))
    else:
        print("    pub %s: *const c_void," % f)
print("}")
print(
    "\n/// One struct of the binding: its name, its size without padding, and the offset and size of each field.\n"
    "#[cfg(test)]\npub type Layout = (&'static str, usize, &'static [(&'static str, usize)]);\n"
)
print("#[cfg(test)]\n#[rustfmt::skip]\npub const LAYOUTS: &[Layout] = &[")
for name, members in layout:
    rows = ", ".join(
        '("%s", std::mem::offset_of!(%s, %s))' % (n, name, "type_" if n == "type" else n)
        for n, t in members
        if not t.endswith("_Value")
    )
    print('    ("%s", %s::STRUCT_SIZE, &[%s]),' % (name, name, rows))
rows = ", ".join('("%s", std::mem::offset_of!(PJRT_Api, %s))' % (f, f) for f in table)
print('    ("PJRT_Api", size_of::<PJRT_Api>(), &[%s]),' % rows)
print("];")
