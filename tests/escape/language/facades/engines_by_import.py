"""Import what the modules in user space are built on."""

# stopped: harmless

engines = "caps.worker.inside.stdlib.user_modules.engines"
for module in ("sqlite_engine", "sqlite_rules", "syntax_trees", "weak_references", "xml_events"):
    try:
        exec(f"import {engines}.{module}")
        escaped()
    except ImportError:
        pass
for module in ("_sqlite3", "pyexpat", "_ast", "_weakref", "stat", "xml.etree.ElementPath", "io_streams"):
    try:
        exec(f"import {module}")
        escaped()
    except ImportError:
        pass
