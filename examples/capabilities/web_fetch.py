"""{"web_fetch": {"hosts": ["docs.python.org"]}}"""

try:
    page = await caps.web.fetch(url="https://example.org/", as_markdown=True)
    print(page.status_code, page.content)
except PolicyDeniedError as error:
    print(error.reason)

# prints
# scope_violation
