"""The forms in which a result is shown to others: JSON, and text for a model. No IO."""
