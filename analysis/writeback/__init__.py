"""Write-back: claims sent as new spans into the user's own observability."""
