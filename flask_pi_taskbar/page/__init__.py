"""The board's page over HTTP: mounted in an app in development, or served alone."""
