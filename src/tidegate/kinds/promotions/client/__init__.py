"""Outside systems that pipelines read: the existing state store, histories, Prometheus."""
