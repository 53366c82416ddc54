module trainshed/tools/pulumi-resource-kubernetes

go 1.26.0
