"""Small, real stand-ins that several tests share: servers, mainly."""
