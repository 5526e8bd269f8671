"""The sentences of specifications 000 and 004 that tests stand for, each under a short name.

A test names them with `@pytest.mark.spec("000-…")`. `tests/project/test_spec_coverage.py` compares
this table with the specifications, and checks that every name is used by a test.
"""

from __future__ import annotations

# For each section: its heading, and its sentences in order.
SECTIONS: dict[tuple[str, str], dict[str, str]] = {
    ("000", "### Tools Filter"): {
        "000-filter": "Any capability entry can include a `tools` array to restrict which tools "
        "from that capability are exposed to the agent.",
        "000-filter-omitted": "When omitted, all tools are available.",
        "000-filter-example": "This means the audio capability is resolved, but only the "
        "`transcribe` tool is available — other tools are filtered out.",
        "000-filter-allowlist": "This is an allowlist — no disallowedTools, no wildcards.",
    },
    ("000", "### Capability-Specific Config"): {
        "000-config-schema": "Beyond `tools`, each capability can define its own config schema.",
        "000-config-declared": "The resolver declares what config it accepts.",
        "000-config-stripped": "`tools` is reserved by the registry and stripped before the config "
        "is passed to the resolver.",
        "000-config-example": 'The resolver receives `{ "dirs": ["/data/reports"] }`.',
        "000-config-filtering": "The registry handles `tools` filtering separately.",
    },
    ("000", "## CapabilityRegistry"): {
        "000-resolver": "Each resolver registers with a key and implements resolution:",
        "000-resolver-tools": "Each resolver declares its `tools` list — the complete set of tools "
        "this capability can provide.",
        "000-resolver-purposes": "This serves two purposes:",
        "000-validation": "**Validation** — when an agent config includes `tools: "
        '["transcribe"]`, the registry validates those names against the resolver\'s declared '
        "tools.",
        "000-validation-unknown": "Unknown tool names are an error.",
        "000-discovery": "**Discovery** — the registry can enumerate all tools across all "
        "capabilities for UIs, agent builders, and documentation without starting any MCP servers.",
        "000-tools-resolved": "The registry resolves the `tools` field before passing config to "
        "the resolver: it validates the allowlist against declared tools, then passes the resolved "
        "list (defaulting to all tool keys when omitted).",
        "000-tools-received": "The resolver receives `tools` as a resolved array and is "
        "responsible for only exposing those tools — e.g., by passing the list to its MCP server "
        "factory so disallowed tools are never registered.",
        "000-skip": "A resolver can return `null` to skip (e.g., a capability that requires a "
        "runtime dependency not available in the current execution context).",
        "000-context": "All resolvers receive the same context.",
        "000-context-fields": "Not every resolver uses every field.",
        "000-resolve": "`resolve()` iterates the agent's capabilities object.",
        "000-resolve-each": "For each key, it finds the registered resolver, validates the `tools` "
        "allowlist against the resolver's declared tools (defaulting to all if omitted), passes "
        "the resolved config to the resolver, and collects the results.",
        "000-resolve-unknown": "Unknown capabilities are an error.",
        "000-resolve-servers": "Since resolvers enforce tool filtering themselves, the MCP servers "
        "in `ResolvedCapabilities` only expose allowed tools.",
    },
    ("000", "## Run-time Injections"): {
        "000-injections": "Not all MCP servers are capabilities.",
        "000-injections-wired": "Some are wired by AgentRunner based on execution context, never "
        "listed in agent config, and not togglable.",
        "000-injections-after": "Run-time injections are added after capability resolution.",
        "000-injections-apart": "They use the same infrastructure but are not part of the agent's "
        "capabilities object and are not registered in CapabilityRegistry.",
    },
    ("000", "## Constraints"): {
        "000-listed": "Every capability is explicitly listed in `agent.capabilities`.",
        "000-not-implicit": "No implicit inclusion.",
        "000-security": "Capabilities *are* the security model.",
        "000-no-trust-layer": "No separate trust layer.",
        "000-no-channel": "No capability resolver receives a channel parameter.",
        "000-channel-agnostic": "Core is channel-agnostic.",
        "000-tools-reserved": "`tools` is a reserved key in capability config — always handled by "
        "the registry, never passed to resolvers.",
        "000-automatic": "Registering a new CapabilityResolver automatically makes that capability "
        "available for agent configuration.",
        "000-no-changes": "No other code changes needed.",
    },
    ("004", "### Data Model"): {
        "004-id": "| `id` | CapabilityId | Unique string identifier |",
        "004-name": "| `name` | string | Display name |",
        "004-description": "| `description` | string | Description of functionality |",
        "004-status": "| `status` | CapabilityStatus | Availability status |",
        "004-icon": "| `icon` | string? | Icon name for UI rendering |",
        "004-category": "| `category` | string? | Category for grouping in UI |",
        "004-id-string": "Capability IDs are now string-based for extensibility.",
        "004-id-added": "New capabilities can be added without database migrations.",
        "004-trait": "Capabilities are defined as trait implementations in the core crate:",
        "004-registry": "The `CapabilityRegistry` in core holds all registered capability "
        "implementations.",
        "004-dto": "The API layer converts trait objects to DTOs using `Capability::from_core()`.",
    },
    ("004", "#### FileSystem"): {
        "004-files-status": "**Status**: Available",
        "004-files-id": "**ID**: `session_file_system`",
        "004-files-purpose": "**Purpose**: Tools to access and manipulate files in the session "
        "file system",
        "004-files-prompt": "**System Prompt**: Guidance on using file system tools, best "
        "practices for exploration and file operations",
        "004-files-tools": "**Tools**:",
        "004-files-read": "`read_file` - Read file content by path",
        "004-files-read-parameters": "Parameters:",
        "004-files-read-path": "`path`: string (required) - Absolute path to the file (e.g., "
        "'/docs/readme.txt')",
        "004-files-read-returns": "Returns: Object containing path, content, encoding, size_bytes",
        "004-files-read-auto": "Policy: Auto",
        "004-files-write": "`write_file` - Create or update a file",
        "004-files-write-parameters": "Parameters:",
        "004-files-write-path": "`path`: string (required) - Absolute path for the file",
        "004-files-write-content": "`content`: string (required) - Content to write",
        "004-files-write-encoding": "`encoding`: enum (text, base64) - Content encoding, defaults"
        " to text",
        "004-files-write-returns": "Returns: Object containing path, size_bytes, created status",
        "004-files-write-auto": "Policy: Auto",
        "004-files-list": "`list_directory` - List files and directories at a path",
        "004-files-list-parameters": "Parameters:",
        "004-files-list-path": "`path`: string - Directory path to list, defaults to root '/'",
        "004-files-list-returns": "Returns: Object containing path, entries array, count",
        "004-files-list-auto": "Policy: Auto",
        "004-files-grep": "`grep_files` - Search file contents using regex",
        "004-files-grep-parameters": "Parameters:",
        "004-files-grep-pattern": "`pattern`: string (required) - Regex pattern to search for",
        "004-files-grep-path-pattern": "`path_pattern`: string - Optional path pattern filter "
        "(e.g., '*.txt')",
        "004-files-grep-returns": "Returns: Object containing pattern, matches array, match_count",
        "004-files-grep-auto": "Policy: Auto",
        "004-files-delete": "`delete_file` - Delete a file or directory",
        "004-files-delete-parameters": "Parameters:",
        "004-files-delete-path": "`path`: string (required) - Path to file or directory",
        "004-files-delete-recursive": "`recursive`: boolean - If true, delete directories "
        "recursively, defaults to false",
        "004-files-delete-returns": "Returns: Object containing path, deleted status",
        "004-files-delete-auto": "Policy: Auto",
        "004-files-stat": "`stat_file` - Get file or directory metadata",
        "004-files-stat-parameters": "Parameters:",
        "004-files-stat-path": "`path`: string (required) - Path to the file or directory",
        "004-files-stat-returns": "Returns: Object containing path, name, exists, is_directory, "
        "is_readonly, size_bytes, timestamps",
        "004-files-stat-auto": "Policy: Auto",
        "004-files-icon": '**Icon**: "folder"',
        "004-files-category": '**Category**: "File Operations"',
        "004-files-context": "FileSystem tools require session context to access the isolated "
        "virtual filesystem.",
        "004-files-context-required": "Each tool implements `requires_context() -> true` and uses"
        " `execute_with_context()` instead of the standard `execute()`.",
        "004-files-context-fields": "The `ToolContext` provides:",
        "004-files-context-session": "`session_id`: The session whose filesystem to access",
        "004-files-context-store": "`file_store`: A `SessionFileStore` trait implementation for "
        "file operations",
        "004-files-isolated": "Each session has its own isolated filesystem stored in PostgreSQL.",
        "004-files-session-scoped": "Files are session-scoped and cannot be accessed across "
        "sessions.",
        "004-files-separation": "This provides security isolation and clean separation between "
        "conversations.",
        "004-files-parents": "When writing a file like `/a/b/c.txt`, parent directories `/a` and "
        "`/a/b` are automatically created if they don't exist.",
        "004-files-parents-why": "This follows common filesystem patterns and reduces tool call "
        "overhead.",
    },
    ("004", "#### WebFetch"): {
        "004-web-status": "**Status**: Available",
        "004-web-id": "**ID**: `web_fetch`",
        "004-web-purpose": "**Purpose**: Fetch content from URLs and convert HTML to markdown "
        "or plain text",
        "004-web-prompt": "**System Prompt**: None (this capability does not add to the "
        "system prompt)",
        "004-web-timeouts": "**Timeouts**:",
        "004-web-first-byte": "**First byte timeout**: 1 second - If server doesn't respond "
        "within 1 second, request fails",
        "004-web-body": "**Body timeout**: 30 seconds - If body isn't fully read within 30 "
        "seconds, partial content is returned with `[..more content timed out...]` suffix",
        "004-web-tools": "**Tools**:",
        "004-web-tool": "`web_fetch` - Fetch content from a URL",
        "004-web-parameters": "Parameters:",
        "004-web-url": "`url`: string (required) - The URL to fetch, must start with http:// "
        "or https://",
        "004-web-method": "`method`: enum (GET, HEAD) - HTTP method, defaults to GET",
        "004-web-as-markdown": "`as_markdown`: boolean - Convert HTML response to markdown format",
        "004-web-as-text": "`as_text`: boolean - Convert HTML response to plain text (ignored "
        "if as_markdown is true)",
        "004-web-returns": "Returns: Object containing:",
        "004-web-r-url": "`url`: The requested URL",
        "004-web-r-status": "`status_code`: HTTP status code",
        "004-web-r-content-type": "`content_type`: Response content type",
        "004-web-r-size": "`size`: Number of bytes received",
        "004-web-r-last-modified": "`last_modified`: Last-Modified header value (when available)",
        "004-web-r-filename": "`filename`: Extracted filename from Content-Disposition header "
        "or URL (when available)",
        "004-web-r-format": '`format`: "markdown", "text", or "raw" depending on conversion',
        "004-web-r-content": "`content`: The fetched content (not present for HEAD requests "
        "or binary content)",
        "004-web-r-truncated": "`truncated`: boolean - True if body was truncated due to timeout",
        "004-web-r-error": "`error`: (for binary content) Error message explaining binary "
        "content is not supported",
        "004-web-errors": "Error handling:",
        "004-web-binary": "Binary content (images, PDFs, etc.) returns success with metadata "
        "and error message (not a tool error)",
        "004-web-invalid": "Invalid URLs return validation errors",
        "004-web-network": "Network errors return appropriate error messages",
        "004-web-first-byte-error": 'First byte timeout returns "server did not respond '
        'within 1 second"',
        "004-web-policy": "Policy: Auto",
        "004-web-icon": '**Icon**: "globe"',
        "004-web-category": '**Category**: "Network"',
        "004-web-no-prompt": "This capability intentionally does not contribute to the system "
        "prompt.",
        "004-web-self-documenting": "The tool is self-documenting through its parameter "
        "schema and description.",
        "004-web-discover": "Agents can discover and use the tool without additional instructions.",
        "004-web-binary-text": "Binary content (images, PDFs, audio, video, etc.) cannot be "
        "fetched as textual content.",
        "004-web-metadata": "However, instead of returning a tool error, the response "
        "includes available metadata (content type, size, filename, last modified) along "
        "with an error message explaining binary content is not supported.",
        "004-web-understand": "This allows agents to understand what the resource is even "
        "though they cannot access its content.",
        "004-web-built-in": "The capability includes built-in HTML to markdown/text "
        "conversion rather than requiring external dependencies.",
        "004-web-provides": "This provides:",
        "004-web-consistent": "Consistent behavior across deployments",
        "004-web-licensing": "No external library licensing concerns",
        "004-web-predictable": "Predictable output format",
        "004-web-elements": "The conversion handles common HTML elements (headings, lists, "
        "emphasis, code blocks, etc.) and strips script/style content.",
    },
    ("004", "### Capability Application Flow"): {
        "004-flow": "When a session executes:",
        "004-flow-load": "**Load Agent**: Fetch agent configuration from database",
        "004-flow-fetch": "**Fetch Capabilities**: Get agent's enabled capabilities via "
        "`get_agent_capabilities(agent_id)`",
        "004-flow-resolve": "**Resolve Capabilities**: For each capability (ordered by "
        "`position`):",
        "004-flow-lookup": "Look up `InternalCapability` from registry by string ID",
        "004-flow-prompts": "Collect `system_prompt_addition` texts",
        "004-flow-tools": "Collect `tools` definitions",
        "004-flow-build": "**Build RuntimeAgent**:",
        "004-flow-prompt": "System prompt = capability additions + agent's base system prompt",
        "004-flow-merged": "Tools = merged tool list from all capabilities",
        "004-flow-execute": "**Execute**: Run Agent Loop with fully configured RuntimeAgent",
    },
    ("004", "### Extension Points (Future)"): {
        "004-custom": "**Custom Capabilities**: User-defined capabilities with custom tools",
        "004-composition": "**Capability Composition**: Capabilities that depend on other "
        "capabilities",
        "004-configuration": "**Capability Configuration**: Per-agent settings for capabilities",
        "004-conflicts": "**Conflict Resolution**: Handle tool name conflicts between capabilities",
        "004-versions": "**Capability Versioning**: Track capability API versions for "
        "compatibility",
    },
}

# Lines of the interfaces in the same sections, which are code there.
INTERFACES: dict[str, tuple[str, ...]] = {
    "000-tool-descriptor": ("key: string  ", "name: string  ", "description: string  "),
    "000-config-resolved": ("tools: string[]  ", "[key: string]: unknown  "),
    "000-context-interface": (
        "agentDir: string",
        "workspaceDir: string",
        "thread: ThreadManifest",
        "callbacks: AgentRunnerCallbacks",
        "agent: AgentConfig",
    ),
    "000-registry-interface": (
        "register(resolver: CapabilityResolver): void",
        "knownCapabilities(): CapabilityDescriptor[]",
        "mcpServers: Record<string, McpServerConfig>",
    ),
    "004-statuses": ("Available,   // ", "ComingSoon,  // ", "Deprecated,  // "),
    "004-defaults": (
        "fn system_prompt_addition(&self) -> Option<&str> { None }",
        "fn tools(&self) -> Vec<Box<dyn Tool>> { vec![] }",
        "fn icon(&self) -> Option<&str> { None }",
        "fn category(&self) -> Option<&str> { None }",
    ),
}
