"""The routes of the API: a function for each makes its request. One module a resource, no IO."""
