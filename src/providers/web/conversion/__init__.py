"""From HTML to Markdown and text, in processes of their own. No policy or connection is here."""
