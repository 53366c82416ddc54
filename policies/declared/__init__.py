"""What a stack declares, as rules read it: values that may be unknown, resources, IAM documents."""
