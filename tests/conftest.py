"""What holds for all tests."""

from hypothesis import settings

# A busy machine makes any example slow once; that is no fault of what is tested.
settings.register_profile("slowwave", deadline=None)
settings.load_profile("slowwave")
