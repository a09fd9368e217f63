"""What programs reach over HTTP: probes, numbers, the version. No page and no API yet."""
