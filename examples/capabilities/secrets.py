"""{"secrets": {"hosts": {"example_token": ["api.example.org"]}}, "web_fetch": {}}"""

try:
    token = await caps.secrets.handle(name="example_token")  # a handle, and never the value
    page = await caps.web.fetch(
        url="https://api.example.org/", headers={"Authorization": f"Bearer {token}"}
    )
    print(page.status_code)
except ProviderError as error:
    print(error)

# prints
# there is no secret `example_token`; the operator can set it
